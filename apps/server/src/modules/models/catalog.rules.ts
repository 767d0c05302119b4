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
const maxPauseMs = hourMs;
/** Fewer than the auto-disable threshold of a connector. */
const failuresToBelieve = 3;

/** Age at which a list is refreshed. */
export function isStale(fetchedAt: string, now: Date): boolean {
  return now.getTime() - Date.parse(fetchedAt) >= dayMs;
}

/** Whether the list becomes too old before the next run of the job. */
export function isAging(fetchedAt: string, now: Date): boolean {
  return now.getTime() - Date.parse(fetchedAt) >= dayMs - 2 * hourMs;
}

/** Backoff after consecutive failures, at most one hour. */
export function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 30), maxPauseMs);
}

/** Whether an empty list counts as a failure; it is accepted after several in a row. */
export function isDoubtful({ had, failures }: { had: number; failures: number }): boolean {
  return had > 0 && failures < failuresToBelieve;
}

/** The prices of input and output must be known, and all known prices must be 0. */
export function isFree({ promptPrice, completionPrice, imagePrice, requestPrice }: Priced): boolean {
  if (promptPrice === null || completionPrice === null) return false;
  return [promptPrice, completionPrice, imagePrice, requestPrice].every((price) => price === null || isZero(price));
}

/** Unexpired models that match, sorted by name by default; unknown values come last. */
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

const comparisons: Readonly<Record<ModelOrder['column'], (left: Listed, right: Listed, sign: number) => number>> = {
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
