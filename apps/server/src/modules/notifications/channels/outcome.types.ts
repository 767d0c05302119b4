/**
 * What came of an attempt. `taken`: the channel has it. `refused`: it never will. `failed`: it may another time, after
 * `retryAfterMs` at the soonest. `not_asked`: all who carry it want to be left alone just now. `no_address`, `no_provider`: nobody
 * could be asked, and nobody was; `switched_off`: nobody may be.
 */
export type Outcome =
  | { kind: 'taken' }
  | { kind: 'refused' }
  | { kind: 'failed'; retryAfterMs?: number; error: unknown }
  | { kind: 'not_asked'; retryAfterMs: number }
  | { kind: 'no_address' }
  | { kind: 'no_provider' }
  | { kind: 'switched_off' };
