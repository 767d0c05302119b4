import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import type { Statements, TenantDb } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'now' | 'outbound' | 'principals'>;

export type Scope = { db: TenantDb; actor: Actor<Person>; services: Dependencies };

/** The rows that a caller can see. */
export type Reach = {
  db: { readonly interactive: Statements };
  /** Undefined for all tenants of the installation. */
  tenantId: string | undefined;
};

/**
 * System administrators in the system tenant see all tenants, or the requested one. Other callers see only the tenant they act
 * for: row level security hides any other requested tenant.
 */
export function reachOf({ db, actor, services }: Scope, asked?: string): Reach {
  if (seesAllTenants(db, actor)) return { db: services.database.platform(), tenantId: asked };
  return { db, tenantId: asked ?? db.tenantId };
}

export function seesAllTenants({ tenantId }: TenantDb, actor: Actor<Person>): boolean {
  return actor.isSystemAdmin && tenantId === systemTenantId;
}
