import { readHtml, type HtmlItem } from '#modules/connectors/translation/protection/html';
import {
  hasWords,
  join,
  type Layout,
  type Piece,
  type Segment,
} from '#modules/connectors/translation/protection/pieces.rules';
import { splitAtPlaceholders } from '#modules/connectors/translation/protection/placeholders.rules';

export type HowToTakeApart = {
  isHtml: boolean;
  /** What is kept besides placeholders. */
  alsoProtects?: RegExp | undefined;
};

/** An end of a line, and what is blank behind it. */
const lineEnd = /[\n\r\v\f\u0085\u2028\u2029]\s*/gu;

/** A text as segments, and what is between them. Lines and paragraphs are segments of their own. */
export function takeApart(text: string, how: HowToTakeApart): Layout {
  const lines = how.isHtml ? linesOfHtml(readHtml(text)) : linesOf(text);
  return lines.flatMap((line) => (typeof line === 'string' ? [line] : trim(toPieces(line, how), how.isHtml)));
}

/** Its texts as segments of their own: no marker can be lost where none is sent. */
export function atItsMarkers(segment: Segment, isHtml: boolean): Layout {
  return segment.flatMap((piece) => (typeof piece === 'string' ? trim([piece], isHtml) : [piece.raw]));
}

/** Without what need not be sent: blanks, silent marks and tags around the whole; and nothing at all where nothing has words. */
export function trim(pieces: Segment, isHtml: boolean): Layout {
  if (!hasWords(pieces)) return pieces.length === 0 ? [] : [join(pieces, isHtml)];
  const rest = [...pieces];
  let [lead, tail] = ['', ''];
  for (;;) {
    const [first, last] = [rest[0]!, rest.at(-1)!];
    if (isSilent(first)) lead += join([rest.shift()!], isHtml);
    else if (isSilent(last)) tail = join([rest.pop()!], isHtml) + tail;
    else if (isPair(first, last)) {
      lead += join([rest.shift()!], isHtml);
      tail = join([rest.pop()!], isHtml) + tail;
    } else break;
  }
  if (typeof rest[0] === 'string') {
    const text = rest[0].trimStart();
    lead += rest[0].slice(0, rest[0].length - text.length);
    rest[0] = text;
  }
  const last = rest.at(-1);
  if (typeof last === 'string') {
    const text = last.trimEnd();
    tail = last.slice(text.length) + tail;
    rest[rest.length - 1] = text;
  }
  return [lead, rest, tail].filter((part) => part !== '');
}

function isSilent(piece: Piece): boolean {
  return typeof piece === 'string' ? piece.trim() === '' : piece.kind === 'mark' && piece.isSilent;
}

function isPair(first: Piece, last: Piece): boolean {
  return (
    typeof first !== 'string' &&
    typeof last !== 'string' &&
    first.kind === 'open' &&
    last.kind === 'close' &&
    first.pair === last.pair
  );
}

type InlineItem = Exclude<HtmlItem, { kind: 'boundary' }>;

function linesOf(text: string): (string | InlineItem[])[] {
  const lines: (string | InlineItem[])[] = [];
  let end = 0;
  for (const { 0: between, index } of text.matchAll(lineEnd)) {
    lines.push([{ kind: 'text', text: text.slice(end, index) }], between);
    end = index + between.length;
  }
  return [...lines, [{ kind: 'text', text: text.slice(end) }]];
}

function linesOfHtml(items: readonly HtmlItem[]): (string | InlineItem[])[] {
  const lines: (string | InlineItem[])[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (item.kind === 'boundary') lines.push(item.raw);
    else if (typeof last === 'object') last.push(item);
    else lines.push([item]);
  }
  return lines;
}

function toPieces(items: readonly InlineItem[], { isHtml, alsoProtects }: HowToTakeApart): Piece[] {
  const pairs = pairsOf(items);
  const pieces: Piece[] = [];
  let text = '';
  const finishText = () => {
    for (const run of splitAtPlaceholders(text, alsoProtects)) {
      if (typeof run === 'string') pieces.push(run);
      else pieces.push({ kind: 'mark', raw: join([run.kept], isHtml), isSilent: false });
    }
    text = '';
  };
  for (const [index, item] of items.entries()) {
    if (item.kind === 'text') {
      // Placeholders may have entities in them.
      text += item.text;
      continue;
    }
    finishText();
    const pair = pairs.get(index);
    if (item.kind === 'mark' || pair === undefined)
      pieces.push({ kind: 'mark', raw: item.raw, isSilent: true, isLoose: item.kind !== 'mark' });
    else pieces.push({ kind: item.kind, raw: item.raw, pair });
  }
  finishText();
  return pieces;
}

/** Pairs within pairs; a page is nested less than that, and the cost of some steps grows with the depth. */
const maxPairDepth = 32;

/** Tags that belong together, by the index of the first; what is closed out of order, never, or too deep belongs to nothing. */
function pairsOf(items: readonly InlineItem[]): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: { index: number; name: string }[] = [];
  // Without it, each unmatched tag would be compared with all open ones.
  const openOfName = new Map<string, number>();
  const count = (name: string, change: 1 | -1) => openOfName.set(name, (openOfName.get(name) ?? 0) + change);
  for (const [index, item] of items.entries()) {
    if (item.kind === 'open') {
      open.push({ index, name: item.name });
      count(item.name, 1);
    }
    if (item.kind !== 'close' || (openOfName.get(item.name) ?? 0) === 0) continue;
    let last = open.pop()!;
    for (; last.name !== item.name; last = open.pop()!) count(last.name, -1);
    count(item.name, -1);
    if (open.length >= maxPairDepth) continue;
    pairs.set(last.index, last.index);
    pairs.set(index, last.index);
  }
  return pairs;
}
