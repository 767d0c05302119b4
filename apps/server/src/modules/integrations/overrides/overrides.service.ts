import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, type SetHeader } from '#core/http/paging';
import {
  quotaLimitProblem,
  isOperationKey,
  maskCustomerCredentials,
  operations,
  readCustomerCredentials,
  sealCustomerCredentials,
  type OperationKey,
} from '#modules/connectors/index';
import {
  QuotaLimitInvalid,
  OperationNotFound,
  InstallationOverride,
  TenantOverrideNotFound,
} from '#modules/integrations/integrations.errors';
import {
  countOverrides,
  deleteOverride,
  findOwner,
  insertOverride,
  listOverrides,
  lockOverride,
  updateOverride,
  type OverrideChanges,
  type OverrideRow,
} from '#modules/integrations/overrides/overrides.queries';
import type {
  ListTenantOverridesQuery,
  SaveTenantOverrideBody,
} from '#modules/integrations/overrides/overrides.schemas';
import { reachOf, seesAllTenants, type Scope } from '#modules/integrations/reach';
import { reachTenant } from '#modules/tenants/index';

type Saving = { scope: Scope; actor: Actor<Person>; at: string; body: SaveTenantOverrideBody };

/**
 * Creates or updates the override of an operation; omitted properties keep their values. Recorded in the audit trail of the
 * affected tenant.
 * @throws TenantNotFound, InstallationOverride, OperationNotFound, QuotaLimitInvalid, CredentialsRequired, InvalidConnectorConfig
 */
export async function saveTenantOverride(scope: Scope, body: SaveTenantOverrideBody) {
  const { db } = await reachTenant(scope, body.tenantId);
  assertMayChange(scope, db.tenantId);
  if (!isOperationKey(body.operation_key)) throw OperationNotFound();
  const problem = quotaLimitProblem(body.quota_ceiling ?? {});
  if (problem !== undefined) throw QuotaLimitInvalid({ details: { problem } });
  const actor = { ...scope.actor, tenantId: db.tenantId };
  const saving = { scope, actor, body, at: scope.services.now().toISOString() };
  const row = await db.transaction((tx) => saveIn(tx, saving));
  return { data: present(scope, row) };
}

async function saveIn(tx: Transaction, saving: Saving): Promise<OverrideRow> {
  const { operation_key: operationKey, tenantId } = saving.body;
  for (;;) {
    const stored = await tx.first(lockOverride({ tenantId, operationKey }));
    const row = await tx.first(await (stored === undefined ? inserted(saving) : updated(saving, stored)));
    if (row !== undefined) return row;
    // Another request has created it in between.
  }
}

async function inserted(saving: Saving) {
  const { at, body } = saving;
  const blank = { preferred_provider_order: [], quota_limits: {}, override_config: {}, customer_credentials: null };
  const id = newId();
  const row = { id, operation_key: body.operation_key, at, ...(await changesOf(saving, { id, ...blank })) };
  return insertOverride(row, auditOf(saving));
}

async function updated(saving: Saving, stored: OverrideRow) {
  const changes = { ...(await changesOf(saving, stored)), updated_at: saving.at };
  return updateOverride(stored.id, changes, auditOf(saving));
}

type Kept = Omit<OverrideChanges, 'enabled'> & { id: string };

async function changesOf({ scope, body }: Saving, stored: Kept): Promise<OverrideChanges> {
  const { services } = scope;
  const { tenantId } = body;
  const order = body.preferred_provider_order ?? stored.preferred_provider_order;
  const sent = body.customer_credentials ?? unassigned(services, stored, order);
  const { id: overrideId, customer_credentials: before } = stored;
  return {
    enabled: body.enabled,
    preferred_provider_order: order,
    quota_limits: body.quota_ceiling ?? stored.quota_limits,
    override_config: body.override_config ?? stored.override_config,
    customer_credentials:
      sent === undefined
        ? before
        : await sealCustomerCredentials(services, { tenantId, overrideId, sent, order, stored: before }),
  };
}

/** Assigns flat credentials to a connector once there is a preferred order. */
function unassigned(services: Scope['services'], stored: Kept, order: readonly string[]) {
  return order.length === 0 ? undefined : readCustomerCredentials(services, stored)['']?.credentials;
}

function auditOf({ actor, at, body }: Saving) {
  return auditParams(actor, at, { fields: Object.keys(body), operation_key: body.operation_key });
}

export async function listTenantOverrides(
  { setHeader, ...scope }: Scope & { setHeader: SetHeader },
  query: ListTenantOverridesQuery,
) {
  const { limit = 50, offset = 0, operation_key: operationKey, search, sort } = query;
  const { db, tenantId } = reachOf(scope, query.tenantId);
  const filters = { tenantId, operationKey, search };
  const order = parseSort(sort) ?? { column: 'operation_key', descending: false };
  const { rows, total, isCapped } = await pageOfMatches(
    db,
    listOverrides(filters, { limit, offset, order }),
    countOverrides(filters),
    { limit, offset },
  );
  if (isCapped) setHeader('x-total-capped', 'true');
  const data = rows.map((row) => ({ ...present(scope, row), operation_key: row.operation_key }));
  return { data, total, limit, offset };
}

/** Deletes an override; the defaults of the installation apply again. @throws TenantOverrideNotFound, InstallationOverride */
export async function deleteTenantOverride(scope: Scope, id: string): Promise<void> {
  const tenantId = await ownerOf(scope, id);
  assertMayChange(scope, tenantId);
  const at = scope.services.now().toISOString();
  const actor = { ...scope.actor, tenantId };
  const db = tenantId === scope.db.tenantId ? scope.db : scope.services.database.tenant(tenantId);
  const row = await db.interactive.first(deleteOverride({ id, ...auditParams(actor, at) }));
  if (row === undefined) throw TenantOverrideNotFound();
}

async function ownerOf({ db, actor, services }: Scope, id: string): Promise<string> {
  if (!seesAllTenants(db, actor)) return db.tenantId;
  const found = await services.database.platform().first(findOwner({ id }));
  if (found === undefined) throw TenantOverrideNotFound();
  return found.tenant_id;
}

/** An override of the system tenant applies to all tenants. */
function assertMayChange({ actor }: Scope, tenantId: string): void {
  if (tenantId === systemTenantId && !actor.isSystemAdmin) throw InstallationOverride();
}

function present({ services }: Scope, row: OverrideRow) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    operation_id: operations[row.operation_key as OperationKey].id,
    enabled: row.enabled,
    customer_credentials: maskCustomerCredentials(services, row),
    quota_ceiling: row.quota_limits,
    preferred_provider_order: row.preferred_provider_order,
    override_config: row.override_config,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
