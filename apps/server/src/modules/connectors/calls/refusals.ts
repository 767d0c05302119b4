import { defaultRetryAfterSeconds, failureOfStatus, parseRetryAfter } from '#modules/connectors/calls/answers.rules';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import type { Outcome } from '#modules/connectors/health/health.rules';

/** The failure for a status other than 2xx. */
export function refusalOf({ status: httpStatus, headers }: Response, now: Date): ProviderFailure {
  const kind = failureOfStatus(httpStatus);
  if (kind !== 'rate_limited') return new ProviderFailure(kind, { httpStatus });
  return new ProviderFailure(kind, { httpStatus, retryAfterSeconds: parseRetryAfter(headers.get('retry-after'), now) });
}

/** The effect of a failure on the health of the connector. */
export function toOutcome({
  kind,
  httpStatus,
  retryAfterSeconds = defaultRetryAfterSeconds,
}: ProviderFailure): Outcome {
  return kind === 'rate_limited' ? { kind, retryAfterSeconds } : { kind, httpStatus };
}
