import {
  escapeMarkup,
  type Bound,
  type Mark,
  type Piece,
  type Segment,
} from '#modules/connectors/translation/protection/pieces.rules';
import { placeholdersIn } from '#modules/connectors/translation/protection/placeholders.rules';

/** A segment as a provider gets it: protected parts are written as `<x id="1"/>`, or as `<g id="2">…</g>` around text. */
export function write(segment: Segment, escapes: boolean): string {
  const numbers = new Map<number, number>();
  let count = 0;
  return segment
    .map((piece) => {
      if (typeof piece === 'string') return escapes ? escapeMarkup(piece) : piece;
      if (piece.kind === 'close') return '</g>';
      count += 1;
      if (piece.kind === 'mark') return `<x id="${count}"/>`;
      numbers.set(piece.pair, count);
      return `<g id="${count}">`;
    })
    .join('');
}

/**
 * The translated segment, or why it is unusable: a marker is missing, duplicate, unknown, or nested differently;
 * or the text is empty, far too long or short, or adds an active part such as a tag or an address.
 */
export function read(answer: string, segment: Segment, escapes: boolean): Segment | { problem: string } {
  const reading = readMarkers(answer, tokensOf(segment), escapes);
  if ('problem' in reading) return reading;
  const given = textOf(segment);
  const tidy = tidyingFor(given);
  const pieces = reading.pieces.map((piece) => (typeof piece === 'string' ? tidy(piece) : piece));
  const problem =
    nestingProblem(segment, pieces) ??
    textProblem(given, textOf(pieces)) ??
    (bringsMore(segment, pieces) ? 'the answer adds a tag, a placeholder or an address' : undefined);
  return problem === undefined ? pieces : { problem };
}

type Token = { mark: Mark } | { open: Bound; close: Bound };

/** In the order in which they begin, which is that of their numbers. */
function tokensOf(segment: Segment): Token[] {
  const closing = new Map(
    segment.flatMap((piece) => (typeof piece !== 'string' && piece.kind === 'close' ? [[piece.pair, piece]] : [])),
  );
  return segment.flatMap((piece): Token[] => {
    if (typeof piece === 'string' || piece.kind === 'close') return [];
    return piece.kind === 'mark' ? [{ mark: piece }] : [{ open: piece, close: closing.get(piece.pair)! }];
  });
}

const marker = /<(\/?)\s{0,4}([gx])(?=[\s/>])([^<>]{0,200})>/gi;

type Reading = { pieces: Piece[]; left: Set<number>; open: Bound[] };

function readMarkers(
  answer: string,
  tokens: readonly Token[],
  escapes: boolean,
): { pieces: Piece[] } | { problem: string } {
  const reading: Reading = { pieces: [], left: new Set(tokens.keys()), open: [] };
  let end = 0;
  for (const match of answer.matchAll(marker)) {
    addText(reading, unescape(answer.slice(end, match.index), escapes));
    end = match.index + match[0].length;
    const problem = readMarker(reading, tokens, match);
    if (problem !== undefined) return { problem };
  }
  addText(reading, unescape(answer.slice(end), escapes));
  if (reading.open.length > 0) return { problem: 'a marker is not closed' };
  return reading.left.size > 0 ? { problem: 'a marker is missing' } : { pieces: reading.pieces };
}

function addText({ pieces }: Reading, text: string): void {
  const last = pieces.at(-1);
  if (typeof last === 'string') pieces[pieces.length - 1] = last + text;
  else if (text !== '') pieces.push(text);
}

function readMarker(
  reading: Reading,
  tokens: readonly Token[],
  [, slash, name, rest = '']: RegExpExecArray,
): string | undefined {
  const isPair = name!.toLowerCase() === 'g';
  // `<x id="1"></x>` is another way to write `<x id="1"/>`.
  if (slash === '/') return isPair ? close(reading) : undefined;
  const number = Number(/\bid\s*=\s*["']?(\d{1,5})/i.exec(rest)?.[1]) - 1;
  const token = tokens[number];
  if (token === undefined || 'open' in token !== isPair) return 'the answer adds a marker';
  if (!reading.left.delete(number)) return 'a marker is duplicated';
  if ('mark' in token) {
    reading.pieces.push(token.mark);
    return undefined;
  }
  reading.pieces.push(token.open);
  reading.open.push(token.close);
  return rest.endsWith('/') ? close(reading) : undefined;
}

function close({ open, pieces }: Reading): string | undefined {
  const bound = open.pop();
  if (bound === undefined) return 'a marker is closed that is not open';
  pieces.push(bound);
  return undefined;
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: '\u00a0' };

const entity = /&(?:(lt|gt|amp|quot|apos|nbsp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g;

function unescape(text: string, escapes: boolean): string {
  if (!escapes) return text;
  return text.replaceAll(entity, (whole: string, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return entities[name]!;
    const codepoint = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    return codepoint <= 0x10_ff_ff ? String.fromCodePoint(codepoint) : whole;
  });
}

/** Removes double blanks and line breaks if the source has none: engines leave them where they drop a word or wrap lines. */
function tidyingFor(given: string): (text: string) => string {
  const hasLines = /[\n\r]/.test(given);
  const hasGaps = / {2}/.test(given);
  return (text) => {
    const oneLine = hasLines ? text : text.replaceAll(/ ?[\n\r]+ ?/g, ' ');
    return hasGaps ? oneLine : oneLine.replaceAll(/ {2,}/g, ' ');
  };
}

function nestingProblem(before: Segment, after: Segment): string | undefined {
  const [one, other] = [placesOf(before), placesOf(after)];
  for (const [piece, { parent, hasText }] of one) {
    const now = other.get(piece)!;
    if (now.parent !== parent) return 'a marker is nested in another way';
    if (hasText && !now.hasText) return 'a marker has lost its text';
  }
  const isFixed = before.some((piece) => typeof piece !== 'string' && piece.kind === 'mark' && piece.isLoose === true);
  const [given, got] = [before.filter(isTag), after.filter(isTag)];
  return isFixed && given.some((piece, index) => piece !== got[index]) ? 'a marker is in another place' : undefined;
}

function isTag(piece: Piece): boolean {
  return typeof piece !== 'string' && (piece.kind !== 'mark' || piece.isSilent);
}

type Place = { parent: Bound | undefined; hasText: boolean };

/** Which pair each marker is in, and whether a pair has words in it. */
function placesOf(segment: Segment): Map<Piece, Place> {
  const places = new Map<Piece, Place>();
  const path: { bound: Bound; place: Place }[] = [];
  for (const piece of segment) {
    const last = path.at(-1);
    if (typeof piece === 'string') {
      if (last !== undefined) last.place.hasText ||= /[\p{L}\p{N}]/u.test(piece);
    } else if (piece.kind === 'close') {
      path.pop();
      // Passed to the parent only when the pair closes, so that the time does not grow with the depth.
      const around = path.at(-1);
      if (around !== undefined && last!.place.hasText) around.place.hasText = true;
    } else {
      const place = { parent: last?.bound, hasText: false };
      places.set(piece, place);
      if (piece.kind === 'open') path.push({ bound: piece, place });
    }
  }
  return places;
}

const forbidden = /(?![\t\n\r])\p{Cc}|[\ufffd\ufffe\uffff]|\p{Cs}/u;

function textProblem(before: string, after: string): string | undefined {
  if (!/[\p{L}\p{N}]/u.test(after)) return 'there is no text';
  if (after.length > before.length * 8 + 200) return 'it is far longer than what was sent';
  if (before.length > after.length * 12 + 100) return 'it is far shorter than what was sent';
  return forbidden.test(after) ? 'there are characters that no text has' : undefined;
}

// Text that has an effect when it is rendered or filled in, or that links elsewhere. The beginning is enough, because the rest
// may be in the next marker.
const active =
  /<[a-z!/?%]|[{}]|\b(?:https?|ftp):\/\/|\bwww\.|\bmailto:(?=\S)|@(?=[\p{L}\p{N}-]{1,63}\.[\p{L}\p{N}])|&[a-z]{2,8};|&#/giu;

/** Whether the translation adds active text that the source does not have. */
function bringsMore(before: Segment, after: Segment): boolean {
  const [given, got] = [before, after].map((segment) => activeIn(shown(segment))) as [string[], string[]];
  return hasMore(given, got) || after.some((piece, index) => isContinued(piece, after[index + 1]));
}

function activeIn(text: string): string[] {
  return [...placeholdersIn(text), ...(text.match(active) ?? []).map((found) => found.toLowerCase())];
}

/** The text with each marker replaced by one character. */
function shown(segment: Segment): string {
  return segment
    .map((piece) => (typeof piece === 'string' ? piece : piece.kind === 'open' ? ' ' : '\u{fffc}'))
    .join('');
}

function hasMore(before: readonly string[], after: readonly string[]): boolean {
  const left = new Map<string, number>();
  for (const one of before) left.set(one, (left.get(one) ?? 0) + 1);
  return after.some((one) => {
    const count = left.get(one) ?? 0;
    left.set(one, count - 1);
    return count === 0;
  });
}

const address = /^(?:(?:https?|ftp):\/\/|\/\/|www\.|(?:mailto:)?[\w.+-]+@)/i;

/** The text after an address may extend it to another address; an ending of a word does not. */
function isContinued(piece: Piece, next: Piece | undefined): boolean {
  if (typeof piece === 'string' || piece.kind !== 'mark' || typeof next !== 'string') return false;
  if (piece.isSilent || !address.test(piece.raw)) return false;
  const [whole = ''] = placeholdersIn(piece.raw + next);
  const rest = whole.slice(piece.raw.length);
  return rest !== '' && !/^['’:-]\p{L}{1,12}$/u.test(rest);
}

function textOf(segment: Segment): string {
  return segment.filter((piece) => typeof piece === 'string').join('');
}
