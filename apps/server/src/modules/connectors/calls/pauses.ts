import type { Services } from '#core/services';
import { askedToWaitUntil } from '#modules/connectors/calls/own-patience';
import { asksPatience } from '#modules/connectors/calls/routing.rules';
import type { Candidate } from '#modules/connectors/calls/routing.service';

/** Until when nobody calls it because it asked for that. */
export function patienceOf(
  services: Pick<Services, 'database' | 'now'>,
  tenantId: string,
  { row, isOwnCredentials }: Candidate,
): string | undefined {
  if (isOwnCredentials) return askedToWaitUntil(services, { tenantId, row });
  return asksPatience(row, services.now()) ? row.retry_at! : undefined;
}

/** What went wrong before it was changed or did well again counts no more; nor does what happens with other credentials. */
export function circuitOf(tenantId: string, { row, isOwnCredentials }: Candidate): string {
  return isOwnCredentials
    ? `${row.id} ${tenantId} ${row.updated_at}`
    : `${row.id} ${row.updated_at} ${row.last_success}`;
}
