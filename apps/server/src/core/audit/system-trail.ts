import { systemTenantId, type Actor } from '#core/access/principal';
import { auditEvent, type AuditEvent } from '#core/audit/audit.queries';
import { enterTenant } from '#core/db/database';
import type { Transaction } from '#core/db/scopes';

/** Records in the trail of the system tenant what is the installation's: the last of a platform transaction. */
export async function auditForSystem(tx: Transaction, actor: Actor, at: string, event: AuditEvent): Promise<void> {
  await tx.all(enterTenant(systemTenantId));
  await tx.all(auditEvent({ ...actor, tenantId: systemTenantId }, at, event));
}
