/** Percent with two decimals; of nothing it is what the caller says: 100 where nothing went wrong, 0 where nothing was won. */
export function percentOf(part: number, whole: number, ofNothing: 0 | 100): number {
  return whole === 0 ? ofNothing : Math.round((part / whole) * 10_000) / 100;
}
