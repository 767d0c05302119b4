import { systemTenantId, type Actor, type Person } from '#core/access/principal';
import type { Statements, TenantDb } from '#core/db/scopes';
import type { Services } from '#core/services';

export type Scope = { db: TenantDb; actor: Actor<Person>; services: Services };

/** Whose rows a caller sees. */
export type Reach = {
  db: { readonly slow: Statements };
  /** Undefined for all tenants of the installation. */
  tenantId: string | undefined;
};

/**
 * A system administrator who acts for the installation sees all tenants, or the one that was asked for. Everybody else sees
 * the tenant they act for: of any other one that they ask for, row level security leaves nothing.
 */
export function reachOf({ db, actor, services }: Scope, asked?: string): Reach {
  if (seesAllTenants(db, actor)) return { db: services.database.platform(), tenantId: asked };
  return { db, tenantId: asked ?? db.tenantId };
}

export function seesAllTenants({ tenantId }: TenantDb, actor: Actor<Person>): boolean {
  return actor.isSystemAdmin && tenantId === systemTenantId;
}
