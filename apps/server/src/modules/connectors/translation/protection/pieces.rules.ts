/** Something that comes back exactly as it was: a placeholder, a tag that has no pair, a comment. */
export type Mark = {
  kind: 'mark';
  raw: string;
  /** Whether it says nothing to a reader, so that at either end of a text it need not be sent. */
  isSilent: boolean;
  /** Whether it is a tag without its other half, which means something to all that follows. */
  isLoose?: boolean;
};

/** One of two tags that belong together; both have the same number. */
export type Bound = { kind: 'open' | 'close'; raw: string; pair: number };

export type Piece = string | Mark | Bound;

/** What is translated as one, in pieces of which only the texts may change. */
export type Segment = readonly Piece[];

/** A text taken apart: what stays as it is, and what is translated. */
export type Layout = readonly (string | Segment)[];

export function isSegment(part: string | Segment): part is Segment {
  return typeof part !== 'string';
}

/** Whether there is anything in it that has a translation. */
export function hasWords(segment: Segment): boolean {
  return segment.some((piece) => typeof piece === 'string' && /\p{L}/u.test(piece));
}

export function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The text that pieces stand for. */
export function join(segment: Segment, isHtml: boolean): string {
  return segment
    .map((piece) => (typeof piece !== 'string' ? piece.raw : isHtml ? escapeMarkup(piece) : piece))
    .join('');
}

/** Whether it goes out with markers in it. */
export function hasMarkers(segment: Segment): boolean {
  return segment.some((piece) => typeof piece !== 'string');
}
