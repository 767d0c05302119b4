const minuteMs = 60_000;

/**
 * Backoff after each attempt. It has no jitter, because each user of it limits the attempts that start at once: what failed
 * together is not repeated together.
 */
export const retryPausesMs: readonly number[] = [1, 5, 15, 60, 240, 720].map((minutes) => minutes * minuteMs);

/** Backoff in milliseconds after so many attempts; undefined after the last. */
export function retryAfter(attempts: number): number | undefined {
  return retryPausesMs[attempts - 1];
}
