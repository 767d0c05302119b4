import type { Actor } from '#core/access/principal';
import { announceRevocation } from '#core/access/revocation';
import { auditParams } from '#core/audit/audit.queries';
import type { TenantDb } from '#core/db/scopes';
import type { Services } from '#core/services';
import { DefaultLanguageMissing, TenantNotFound } from '#modules/tenants/tenants.errors';
import {
  findTenant,
  lockTenant,
  updateTenant as updateTenantRow,
  type TenantRow,
} from '#modules/tenants/tenants.queries';
import { changeSettings, type TenantSettings } from '#modules/tenants/tenants.rules';
import type { UpdateTenantBody } from '#modules/tenants/tenants.schemas';

type Scope = { db: TenantDb; actor: Actor; services: Services };

/** @throws TenantNotFound for every tenant but the one that is acted on */
export async function getTenant(db: TenantDb, id: string) {
  const { tenantId } = db;
  const row = id === tenantId ? await db.first(findTenant({ tenantId })) : undefined;
  if (row === undefined) throw TenantNotFound();
  return { data: presentTenant(row) };
}

/** What it asks of people acts on their next request. @throws TenantNotFound, DefaultLanguageMissing */
export async function updateTenant({ db, actor, services }: Scope, id: string, body: UpdateTenantBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getTenant(db, id);
  const { tenantId } = db;
  if (id !== tenantId) throw TenantNotFound();
  const now = services.now();
  const at = now.toISOString();
  const row = await db.transaction(async (tx) => {
    const current = await tx.first(lockTenant({ tenantId }));
    if (current === undefined) throw TenantNotFound();
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

function presentTenant(row: TenantRow) {
  const { requires2fa = false, twoFactorGraceDays = 0, twoFactorRequiredFrom = null } = row.settings as TenantSettings;
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    status: row.status,
    default_language: row.default_language,
    languages: row.languages,
    settings: { requires2fa, twoFactorGraceDays, twoFactorRequiredFrom },
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
