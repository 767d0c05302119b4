import {
  escapeMarkup,
  hasWords,
  isSegment,
  join,
  type Bound,
  type Layout,
  type Piece,
  type Segment,
} from '#modules/connectors/translation/protection/pieces.rules';

const sentences = new Intl.Segmenter('und', { granularity: 'sentence' });
const endOfSentence = /[.!?…。！？]["')\]»”’]{0,3}\s*$/u;

/** What a marker takes at most. */
const markerLength = '<g id="9999">'.length + '</g>'.length;

export type Measure = { maxCharacters: number; isHtml: boolean; escapes: boolean };

/** How long it is at most when it is sent. What is measured in parts is as long as the whole. */
function lengthOf(segment: Segment, escapes: boolean): number {
  const length = (piece: Piece) => {
    if (typeof piece !== 'string') return piece.kind === 'close' ? 0 : markerLength;
    return escapes ? escapeMarkup(piece).length : piece.length;
  };
  return segment.reduce((sum, piece) => sum + length(piece), 0);
}

/** A segment as several that are short enough: at ends of sentences, else between words, and only else anywhere. */
export function cutToFit(segment: Segment, measure: Measure): Layout {
  if (fits(segment, measure)) return toParts(segment, measure);
  return groupsOf(sentencesOf(atomsOf(segment)), measure).flatMap((sentence) => {
    if (fits(sentence, measure)) return toParts(sentence, measure);
    return groupsOf(atomsOf(sentence), measure).flatMap((group) => cutAtom(group, measure));
  });
}

/** Pairs are numbered within a segment. */
const maxPairs = 1_000_000;

/** Many short segments as few, with what was between them as markers that keep their order. */
export function pack(layout: Layout, { escapes, maxCharacters }: Measure): Layout {
  const parts: (string | Piece[])[] = [];
  let [between, room] = ['', 0];
  for (const [index, part] of layout.entries()) {
    if (!isSegment(part)) {
      between += part;
      continue;
    }
    const pieces = part.map((piece) => (isBound(piece) ? { ...piece, pair: piece.pair + index * maxPairs } : piece));
    const length = lengthOf(part, escapes) + markerLength;
    const last = parts.at(-1);
    if (typeof last === 'object' && length <= room)
      last.push({ kind: 'mark', raw: between, isSilent: true, isLoose: true }, ...pieces);
    else {
      parts.push(between, pieces);
      room = maxCharacters;
    }
    room -= length;
    between = '';
  }
  return [...parts, between].filter((part) => part !== '');
}

function isBound(piece: Piece): piece is Bound {
  return typeof piece !== 'string' && piece.kind !== 'mark';
}

function fits(segment: Segment, { escapes, maxCharacters }: Measure): boolean {
  return lengthOf(segment, escapes) <= maxCharacters;
}

function toParts(segment: Segment, { isHtml }: Measure): Layout {
  return hasWords(segment) ? [segment] : [join(segment, isHtml)];
}

function cutAtom(atom: Segment, measure: Measure): Layout {
  if (fits(atom, measure) || !hasWords(atom)) return toParts(atom, measure);
  const [first] = atom;
  if (typeof first === 'string') return cutText(first, measure);
  // A pair around a text that is too long by itself.
  const edge = (piece: Piece) => join([piece], measure.isHtml);
  return [edge(first!), ...cutToFit(atom.slice(1, -1), measure), edge(atom.at(-1)!)];
}

function cutText(text: string, measure: Measure): Layout {
  const words = text.match(/\s*\S+\s*/gu) ?? [text];
  if (words.length > 1)
    return groupsOf(
      words.map((word) => [word]),
      measure,
    ).flatMap((group) => (group.length > 1 ? toParts(group, measure) : cutAtom(group, measure)));
  const half = Math.ceil(text.length / 2);
  // Never between the two halves of one character.
  const middle = /[\udc00-\udfff]/.test(text[half]!) ? half + 1 : half;
  return [text.slice(0, middle), text.slice(middle)].flatMap((part) => cutAtom([part], measure));
}

/** Texts, single marks, and pairs with all that is in them. */
function atomsOf(segment: Segment): Segment[] {
  const atoms: Piece[][] = [];
  let depth = 0;
  for (const piece of segment) {
    if (depth > 0) atoms.at(-1)!.push(piece);
    else atoms.push([piece]);
    if (typeof piece !== 'string' && piece.kind === 'open') depth += 1;
    if (typeof piece !== 'string' && piece.kind === 'close') depth -= 1;
  }
  return atoms;
}

function sentencesOf(atoms: readonly Segment[]): Segment[] {
  const found: Piece[][] = [];
  let isOver = true;
  for (const atom of atoms) {
    const [first] = atom;
    const parts = typeof first === 'string' ? Array.from(sentences.segment(first), ({ segment }) => [segment]) : [atom];
    for (const [index, part] of parts.entries()) {
      if (isOver || index > 0) found.push([...part]);
      else found.at(-1)!.push(...part);
      isOver = typeof part[0] === 'string' && endOfSentence.test(part[0]);
    }
  }
  return found;
}

/** As many at a time as fit together. */
function groupsOf(units: readonly Segment[], { escapes, maxCharacters }: Measure): Segment[] {
  const groups: Piece[][] = [];
  let room = 0;
  for (const unit of units) {
    const length = lengthOf(unit, escapes);
    if (length <= room) groups.at(-1)!.push(...unit);
    else {
      groups.push([...unit]);
      room = maxCharacters;
    }
    room -= length;
  }
  return groups;
}
