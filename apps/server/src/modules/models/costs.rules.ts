/** The number `units` / 10 ^ `scale`, which avoids rounding. */
type Decimal = { units: bigint; scale: number };

/** An approximation; only the model knows the exact number. */
const charactersPerToken = 4;

type Prices = { promptPrice: string | null; completionPrice: string | null; requestPrice: string | null };

/** Cost of a request; a part with an unknown price or length is null, and so is the total. */
export function estimateCost(
  { promptPrice, completionPrice, requestPrice }: Prices,
  { characters, expectedCharacters }: { characters: number; expectedCharacters: number | undefined },
): { prompt: string | null; completion: string | null; total: string | null } {
  const prompt = costOf(promptPrice, characters);
  const completion = expectedCharacters === undefined ? null : costOf(completionPrice, expectedCharacters);
  const isWhole = prompt !== null && completion !== null;
  // A missing price per request means 0.
  const total = isWhole ? sum([prompt, completion, toDecimal(requestPrice ?? '0')]) : null;
  return { prompt: written(prompt), completion: written(completion), total: written(total) };
}

/** Compares two prices in decimal notation; negative if the first is lower. */
export function comparePrices(left: string, right: string): number {
  const [a, b] = sameScale(toDecimal(left), toDecimal(right));
  return a < b ? -1 : Number(a > b);
}

export function isZero(price: string): boolean {
  return toDecimal(price).units === 0n;
}

function costOf(price: string | null, characters: number): Decimal | null {
  if (price === null) return null;
  const { units, scale } = toDecimal(price);
  return { units: units * BigInt(Math.ceil(characters / charactersPerToken)), scale };
}

function toDecimal(price: string): Decimal {
  const [whole, fraction = ''] = price.split('.') as [string, string?];
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

function sameScale(left: Decimal, right: Decimal): [bigint, bigint, number] {
  const scale = Math.max(left.scale, right.scale);
  const scaled = ({ units, scale: own }: Decimal) => units * 10n ** BigInt(scale - own);
  return [scaled(left), scaled(right), scale];
}

function sum(parts: readonly Decimal[]): Decimal {
  return parts.reduce((left, right) => {
    const [a, b, scale] = sameScale(left, right);
    return { units: a + b, scale };
  });
}

function written(value: Decimal | null): string | null {
  if (value === null) return null;
  const digits = value.units.toString().padStart(value.scale + 1, '0');
  const point = digits.length - value.scale;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, point) : `${digits.slice(0, point)}.${fraction}`;
}
