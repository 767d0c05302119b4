import type { Services } from '#core/platform/services';
import { ownPauseUntil } from '#modules/connectors/calls/own-pauses';
import { hasRetryAfter } from '#modules/connectors/calls/routing.rules';
import type { Candidate } from '#modules/connectors/calls/routing.service';

/** End of the pause that Retry-After requested. */
export function retryAfterOf(
  services: Pick<Services, 'database' | 'now'>,
  tenantId: string,
  { row, isOwnCredentials }: Candidate,
): string | undefined {
  if (isOwnCredentials) return ownPauseUntil(services, { tenantId, row });
  return hasRetryAfter(row, services.now()) ? row.retry_at! : undefined;
}

/** The key changes with the configuration, each recovery and the credentials, so that older failures do not count. */
export function circuitOf(tenantId: string, { row, isOwnCredentials }: Candidate): string {
  return isOwnCredentials
    ? `${row.id} ${tenantId} ${row.updated_at}`
    : `${row.id} ${row.updated_at} ${row.last_success}`;
}
