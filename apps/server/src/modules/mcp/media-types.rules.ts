type Range = { type: string; subtype: string; quality: number; place: number };

// A header with more ranges gains nothing.
const maxRanges = 50;

/**
 * The offered media type that an Accept header prefers (RFC 9110 section 12.5.1). For equal qualities the more exact range wins,
 * then the first in the header, then the first offered. If the header accepts none of them, the first offered type is used,
 * because an answer helps more than a refusal.
 */
export function preferredMediaType<const Offered extends string>(
  header: string | undefined,
  offered: readonly [Offered, ...Offered[]],
): Offered {
  const ranges = parseRanges(header ?? '');
  const matches = offered.map((name) => ({ name, ...matchOf(name, ranges) })).filter(({ quality }) => quality > 0);
  // Sorting is stable: what is offered first comes first.
  const best = matches.toSorted((a, b) => b.quality - a.quality || b.exactness - a.exactness || a.place - b.place)[0];
  return best?.name ?? offered[0];
}

/** Whether an Accept header accepts a media type; without a header every type is accepted. */
export function acceptsMediaType(header: string | undefined, type: string): boolean {
  return header === undefined || matchOf(type, parseRanges(header)).quality > 0;
}

function parseRanges(header: string): readonly Range[] {
  return header.split(',', maxRanges).flatMap(parseRange);
}

/** The most exact range decides, even if it refuses a type that a wider range accepts. */
function matchOf(name: string, ranges: readonly Range[]): { quality: number; exactness: number; place: number } {
  const [type, subtype] = name.split('/');
  const matches = ranges
    .filter(
      (range) => (range.type === '*' || range.type === type) && (range.subtype === '*' || range.subtype === subtype),
    )
    .map(({ quality, place, ...range }) => ({ quality, place, exactness: exactnessOf(range) }));
  return matches.toSorted((a, b) => b.exactness - a.exactness)[0] ?? { quality: 0, exactness: 0, place: 0 };
}

function exactnessOf({ type, subtype }: Pick<Range, 'type' | 'subtype'>): number {
  if (type === '*') return 0;
  return subtype === '*' ? 1 : 2;
}

const form = /^([\w.+*-]+)\/([\w.+*-]+)((?:[ \t]*;[ \t]*[\w.+-]+=(?:[\w.+-]+|"[^"]*"))*)$/;
const weight = /;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)(?:[ \t]*;|$)/i;

/** Malformed ranges are ignored; parameters other than the weight do not apply to our types. */
function parseRange(part: string, place: number): Range[] {
  const match = form.exec(part.trim());
  if (match === null) return [];
  const [, type, subtype, parameters] = match;
  if (/;[ \t]*q=/i.test(parameters!) && !weight.test(parameters!)) return [];
  const quality = Number(weight.exec(parameters!)?.[1] ?? 1);
  return [{ type: type!.toLowerCase(), subtype: subtype!.toLowerCase(), quality, place }];
}
