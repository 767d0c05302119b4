import { defaultPatienceSeconds, failureOfStatus, patienceSeconds } from '#modules/connectors/calls/answers.rules';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import type { Outcome } from '#modules/connectors/health/health.rules';

/** What an answer that is not 2xx means. */
export function refusalOf({ status: httpStatus, headers }: Response, now: Date): ProviderFailure {
  const kind = failureOfStatus(httpStatus);
  if (kind !== 'rate_limited') return new ProviderFailure(kind, { httpStatus });
  return new ProviderFailure(kind, { httpStatus, retryAfterSeconds: patienceSeconds(headers.get('retry-after'), now) });
}

/** What a failure means for the health of the connector. */
export function toOutcome({ kind, httpStatus, retryAfterSeconds = defaultPatienceSeconds }: ProviderFailure): Outcome {
  return kind === 'rate_limited' ? { kind, patienceSeconds: retryAfterSeconds } : { kind, httpStatus };
}
