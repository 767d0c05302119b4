import { systemTenantId, type Actor } from '#core/base/access/principal';
import { auditEvent, type AuditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import type { Transaction } from '#core/data/db/scopes';

/** Records in the trail of the system tenant what is the installation's: the last of a platform transaction. */
export async function auditForSystem(tx: Transaction, actor: Actor, at: string, event: AuditEvent): Promise<void> {
  await tx.all(enterTenant(systemTenantId));
  await tx.all(auditEvent({ ...actor, tenantId: systemTenantId }, at, event));
}
