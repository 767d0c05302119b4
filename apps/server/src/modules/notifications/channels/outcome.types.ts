/**
 * Outcome of an attempt. `taken`: the channel accepted it. `refused`: permanent failure. `failed`: temporary failure; retry
 * after `retryAfterMs`. `not_asked`: all providers are paused. `no_address`, `no_provider`: no provider was called.
 * `switched_off`: the operation is disabled.
 */
export type Outcome =
  | { kind: 'taken' }
  | { kind: 'refused' }
  | { kind: 'failed'; retryAfterMs?: number; error: unknown }
  | { kind: 'not_asked'; retryAfterMs: number }
  | { kind: 'no_address' }
  | { kind: 'no_provider' }
  | { kind: 'switched_off' };
