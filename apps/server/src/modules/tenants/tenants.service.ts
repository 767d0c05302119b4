import type { Actor, Person } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import { announceRevocation } from '#core/data/db/revocation';
import type { TenantDb } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { DefaultLanguageMissing, TenantNotFound } from '#modules/tenants/tenants.errors';
import {
  findTenant,
  lockTenant,
  updateTenant as updateTenantRow,
  type TenantRow,
} from '#modules/tenants/tenants.queries';
import { changeSettings, isVisible, type TenantSettings } from '#modules/tenants/tenants.rules';
import type { UpdateTenantBody } from '#modules/tenants/tenants.schemas';

type Scope = { db: TenantDb; actor: Actor<Person>; services: Pick<Services, 'database' | 'now' | 'principals'> };

/** @throws TenantNotFound for every tenant except the caller's; a system administrator may name any */
export async function getTenant(scope: Scope, id: string) {
  const { row } = await reachTenant(scope, id);
  return { data: presentTenant(row) };
}

/** The tenant in the path, unless its grace period is over. @throws TenantNotFound, as `getTenant` */
export async function reachTenant(scope: Scope, id: string): Promise<{ db: TenantDb; row: TenantRow }> {
  const db = reach(scope, id);
  const row = await db.first(findTenant({ tenantId: id }));
  if (row === undefined || !isVisible(row, scope.services.now())) throw TenantNotFound();
  return { db, row };
}

/** The tenant in the path. @throws TenantNotFound */
function reach({ db, actor, services }: Scope, id: string): TenantDb {
  if (id === db.tenantId) return db;
  if (!actor.isSystemAdmin) throw TenantNotFound();
  assertNamed(actor, id);
  return services.database.tenant(id);
}

/** A tenant in the header and a different one in the path contradict each other. @throws TenantNotFound */
export function assertNamed({ tenantId, homeTenantId }: Actor, id: string): void {
  if (tenantId !== homeTenantId && id !== tenantId) throw TenantNotFound();
}

/**
 * New requirements for users apply from their next request.
 * @throws TenantNotFound, DefaultLanguageMissing
 */
export async function updateTenant(scope: Scope, id: string, body: UpdateTenantBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getTenant(scope, id);
  const { services } = scope;
  const db = reach(scope, id);
  const { tenantId } = db;
  const actor = { ...scope.actor, tenantId };
  const now = services.now();
  const at = now.toISOString();
  const row = await db.transaction(async (tx) => {
    const current = await tx.first(lockTenant({ tenantId }));
    if (current === undefined || !isVisible(current, now)) throw TenantNotFound();
    const { settings, ...plain } = body;
    const next = { ...current, ...plain };
    if (!next.languages.includes(next.default_language)) throw DefaultLanguageMissing();
    const changes = {
      ...plain,
      ...(settings === undefined ? {} : { settings: changeSettings(current.settings, settings, now) }),
      updated_at: at,
    };
    await tx.all(announceRevocation(`tenant:${tenantId}`));
    return tx.first(updateTenantRow(changes, auditParams(actor, at, { fields })));
  });
  services.principals.forget(`tenant:${tenantId}`);
  return { data: presentTenant(row!) };
}

export function presentTenant(row: TenantRow) {
  const { requires2fa = false, twoFactorGraceDays = 0, twoFactorRequiredFrom = null } = row.settings as TenantSettings;
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    status: row.status,
    default_language: row.default_language,
    languages: row.languages,
    settings: { requires2fa, twoFactorGraceDays, twoFactorRequiredFrom },
    suspended_at: row.suspended_at,
    deletes_at: row.deletes_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
