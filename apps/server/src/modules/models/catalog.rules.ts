import { comparePrices, isZero } from '#modules/models/costs.rules';

type Priced = Record<'promptPrice' | 'completionPrice' | 'imagePrice' | 'requestPrice', string | null>;
type Listed = Priced & { id: string; name: string; contextLength: number | null; expiresAt: string | null };

export type ModelFilters = {
  search?: string | undefined;
  minContext?: number | undefined;
  free?: boolean | undefined;
};
export type ModelOrder = { column: 'name' | 'price' | 'context_length'; descending: boolean };

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const firstPauseMs = 60_000;
const longestPauseMs = hourMs;
/** Fewer than switch a connector off. */
const failuresToBelieve = 3;

/** So old that it is to be asked for anew. */
export function isStale(fetchedAt: string, now: Date): boolean {
  return now.getTime() - Date.parse(fetchedAt) >= dayMs;
}

/** So old that it will be before the job comes again, which has an hour and some for it. */
export function isAging(fetchedAt: string, now: Date): boolean {
  return now.getTime() - Date.parse(fetchedAt) >= dayMs - 2 * hourMs;
}

/** How long to leave a provider alone after so many failures in a row: longer each time, an hour at most. */
export function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 30), longestPauseMs);
}

/** Whether that there are no models any more is rather a fault; who says so again and again is believed. */
export function isDoubtful({ had, failures }: { had: number; failures: number }): boolean {
  return had > 0 && failures < failuresToBelieve;
}

/** Unknown is not free: what the prompt and the answer cost has to be known, and all that is known has to be nothing. */
export function isFree({ promptPrice, completionPrice, imagePrice, requestPrice }: Priced): boolean {
  if (promptPrice === null || completionPrice === null) return false;
  return [promptPrice, completionPrice, imagePrice, requestPrice].every((price) => price === null || isZero(price));
}

/** Those that are still there and match, in order; by name unless it is said otherwise, and what is unknown comes last. */
export function selectModels<Model extends Listed>(
  models: readonly Model[],
  { search, minContext, free }: ModelFilters,
  order: ModelOrder | undefined,
  now: Date,
): Model[] {
  const words = (search ?? '')
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const matching = models.filter(
    (model) =>
      (model.expiresAt === null || Date.parse(model.expiresAt) > now.getTime()) &&
      words.every((word) => `${model.id} ${model.name}`.toLowerCase().includes(word)) &&
      (minContext === undefined || (model.contextLength ?? 0) >= minContext) &&
      (free === undefined || isFree(model) === free),
  );
  const { column, descending } = order ?? { column: 'name', descending: false };
  const sign = descending ? -1 : 1;
  return matching.toSorted((left, right) => comparisons[column](left, right, sign) || byId(left, right));
}

type Comparison = (left: Listed, right: Listed, sign: number) => number;

const comparisons: Readonly<Record<ModelOrder['column'], Comparison>> = {
  name: (left, right, sign) => sign * compareTexts(left.name.toLowerCase(), right.name.toLowerCase()),
  price: (left, right, sign) =>
    unknownLast(left.promptPrice, right.promptPrice, (a, b) => sign * comparePrices(a, b)) ||
    unknownLast(left.completionPrice, right.completionPrice, (a, b) => sign * comparePrices(a, b)),
  context_length: (left, right, sign) => unknownLast(left.contextLength, right.contextLength, (a, b) => sign * (a - b)),
};

function byId(left: Listed, right: Listed): number {
  return compareTexts(left.id, right.id);
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function unknownLast<Value>(left: Value | null, right: Value | null, compare: (a: Value, b: Value) => number): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return compare(left, right);
}
