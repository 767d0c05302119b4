import { isDeepStrictEqual } from 'node:util';

import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent, auditParams } from '#core/data/audit/audit.queries';
import type { Statements, TenantDb, Transaction } from '#core/data/db/scopes';
import { createLimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Services } from '#core/platform/services';
import { assertComplete, assertProviderConfig, missingIn } from '#modules/connectors/adapters';
import {
  AddressNotAllowed,
  ConnectorNotFound,
  CredentialsRequired,
  SystemLevelConnector,
  TooManyConnectorTests,
  TooManyConnectors,
} from '#modules/connectors/connectors.errors';
import {
  countAllConnectors,
  countConnectors,
  deleteConnector as deleteConnectorRow,
  disableConnector as disableConnectorRow,
  findConnector,
  insertConnector,
  listConnectors as listConnectorRows,
  lockConnector,
  lockConnectors,
  updateConnector as updateConnectorRow,
  type ConnectorChanges,
  type ConnectorFilters,
  type ConnectorRow,
} from '#modules/connectors/connectors.queries';
import { isSameOrigin, maskCredentials, unmaskCredentials } from '#modules/connectors/connectors.rules';
import type {
  CreateConnectorBody,
  ListConnectorsQuery,
  UpdateConnectorBody,
} from '#modules/connectors/connectors.schemas';
import { openCredentials, sealCredentials, type Credentials } from '#modules/connectors/credentials';
import { checkConnector, isWell } from '#modules/connectors/health/checks.service';
import { incomplete, isIncomplete, messageOf, unproven } from '#modules/connectors/health/health.rules';
import { noteMove } from '#modules/connectors/health/health.service';
import { dropFromOrders, listAddresses } from '#modules/connectors/overrides/overrides.queries';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/** Limits the work of each call, which reads all connectors. */
const maxConnectors = 100;
/** Tests per tenant, because each test makes an outside call. */
const testLimit = { max: 10, windowMs: 60_000 };

type Scope = { db: TenantDb; actor: Actor<Person>; services: Dependencies };

/** The tenant's connectors by priority, then those of the installation. */
export async function listConnectors({ db, actor, services }: Scope, query: ListConnectorsQuery) {
  const { limit = 50, offset = 0, ...filters } = query;
  const own = await pageOf(db.interactive, db.tenantId, filters, { limit, offset });
  const data = own.rows.map((row) => presentTo(actor, services, row));
  if (db.tenantId === systemTenantId) return { data, total: own.total, limit, offset };
  const rest = { limit: limit - data.length, offset: Math.max(0, offset - own.total) };
  const system = await pageOf(services.database.platform().interactive, systemTenantId, filters, rest);
  return { data: [...data, ...system.rows.map(presentRedacted)], total: own.total + system.total, limit, offset };
}

/** Only system administrators see addresses of the installation's connectors, also in the system tenant. */
function presentTo(actor: Actor, services: Dependencies, row: ConnectorRow) {
  const isHidden = row.tenant_id === systemTenantId && !actor.isSystemAdmin;
  return isHidden ? presentRedacted(row) : presentConnector(services, row);
}

async function pageOf(
  db: Statements,
  tenantId: string,
  filters: ConnectorFilters,
  page: { limit: number; offset: number },
): Promise<{ rows: ConnectorRow[]; total: number }> {
  const [rows, [counted]] = await db.batch([
    listConnectorRows(tenantId, filters, page),
    countConnectors(tenantId, filters),
  ]);
  return { rows, total: counted!.total };
}

/** @throws ConnectorNotFound */
export async function getConnector({ db, actor, services }: Scope, id: string) {
  const row = await db.first(findConnector({ tenantId: db.tenantId, id }));
  if (row !== undefined) return { data: presentTo(actor, services, row) };
  const system = await findSystemLevel(services, id);
  if (system === undefined) throw ConnectorNotFound();
  return { data: presentRedacted(system) };
}

/** @throws ConnectorKeyTaken (through the constraint), TooManyConnectors, AddressNotAllowed, CredentialsRequired, InvalidConnectorConfig, SystemLevelConnector */
export async function createConnector({ db, actor, services }: Scope, body: CreateConnectorBody) {
  assertMayChange(db, actor);
  assertCallable(services, body.api_base_url);
  const id = newId();
  const at = services.now().toISOString();
  const { category = 'app_service', config = {} } = body;
  const sent = body.auth_config ?? null;
  const credentials = sent === null ? null : unmaskCredentials(sent, null);
  const described = { key: body.api_key, category, baseUrl: body.api_base_url, config, credentials };
  assertProviderConfig(described);
  const insert = insertConnector({
    id,
    api_key: body.api_key,
    api_name: body.api_name,
    api_base_url: body.api_base_url,
    config,
    auth_config: sealCredentials(services, id, credentials),
    enabled: body.enabled ?? true,
    priority: body.priority ?? 50,
    description: body.description ?? null,
    tags: body.tags ?? null,
    category,
    ...knownOf(missingIn(described)),
    created_by: actor.userId,
    created_at: at,
    ...auditParams(actor, at, { fields: Object.keys(body) }),
  });
  const row = await db.transaction(async (tx) => {
    await assertRoom(tx, db.tenantId);
    return tx.first(insert);
  });
  return { data: presentConnector(services, row!) };
}

/** @throws ConnectorNotFound, AddressNotAllowed, CredentialsRequired, InvalidConnectorConfig, SystemLevelConnector */
export async function updateConnector({ db, actor, services }: Scope, id: string, body: UpdateConnectorBody) {
  assertMayChange(db, actor);
  if (body.api_base_url !== undefined) assertCallable(services, body.api_base_url);
  const fields = Object.keys(body);
  return change({ db, actor, services }, id, (stored) => ({
    changes: { ...changesOf(services, stored, body), action: 'provider.updated' },
    details: { fields },
  }));
}

type Change = { changes: Omit<Parameters<typeof updateConnectorRow>[1], 'updated_at'>; details?: { fields: string[] } };

/** Locks the row, so that the credentials and the address stay consistent. */
async function change({ db, actor, services }: Scope, id: string, decide: (stored: ConnectorRow) => Change) {
  const now = services.now();
  const at = now.toISOString();
  const row = await db.transaction(async (tx) => {
    const stored = await tx.first(lockConnector({ tenantId: db.tenantId, id }));
    if (stored === undefined) return undefined;
    const { changes, details = {} } = decide(stored);
    await noteMove(tx, stored, { ...stored, ...changes }, now);
    return tx.first(updateConnectorRow(stored.id, { ...changes, updated_at: at }, auditParams(actor, at, details)));
  });
  if (row === undefined) throw await unknown(services, id);
  return { data: presentConnector(services, row) };
}

function changesOf(services: Dependencies, stored: ConnectorRow, body: UpdateConnectorBody): ConnectorChanges {
  const { auth_config: sent, ...plain } = body;
  const known = readableCredentials(services, stored);
  const credentials = nextCredentials(stored, known, body);
  const merged = { ...stored, ...plain };
  const described = describe(merged, credentials);
  const missing = missingIn(described);
  if (['category', 'config', 'auth_config', 'api_base_url'].some((field) => field in body)) {
    assertProviderConfig(described);
    // A complete connector must stay complete; an incomplete one can get its settings step by step.
    if (!isIncomplete(stored)) assertComplete(missing);
  }
  // The health state does not apply to a new address or new credentials.
  const isOther = sent !== undefined && !isStored(stored, known, credentials);
  const isUnproven = isOther || merged.api_base_url !== stored.api_base_url || isIncomplete(stored);
  return {
    ...(plain as ConnectorChanges),
    ...(isOther ? { auth_config: sealCredentials(services, stored.id, credentials) } : {}),
    ...(isUnproven ? { ...unproven, ...knownOf(missing) } : {}),
  };
}

type Stored = Pick<ConnectorRow, 'api_key' | 'api_base_url' | 'category' | 'config'>;

function describe({ api_key: key, api_base_url: baseUrl, category, config }: Stored, credentials: Credentials) {
  return { key, baseUrl, category, config, credentials };
}

/** Health state of a connector that was never called. */
function knownOf(missing: readonly string[]): Pick<ConnectorRow, 'error_message' | 'error_details'> {
  return missing.length === 0 ? { error_message: null, error_details: null } : incomplete(missing);
}

/** Credentials that cannot be decrypted count as changed. */
function isStored(stored: ConnectorRow, known: Credentials, credentials: Credentials): boolean {
  return isDeepStrictEqual(known, credentials) && (known === null) === (stored.auth_config === null);
}

/** Stored credentials never move to another origin: a change of the address requires them again. */
function nextCredentials(stored: ConnectorRow, known: Credentials, body: UpdateConnectorBody): Credentials {
  const { auth_config: sent, api_base_url: baseUrl } = body;
  const moves = baseUrl !== undefined && !isSameOrigin(baseUrl, stored.api_base_url);
  if (sent === undefined) {
    if (moves && stored.auth_config !== null) throw CredentialsRequired();
    return known;
  }
  return sent === null ? null : unmaskCredentials(sent, moves ? null : known);
}

/** @throws ConnectorNotFound, SystemLevelConnector */
export async function deleteConnector({ db, actor, services }: Scope, id: string): Promise<void> {
  assertMayChange(db, actor);
  const at = services.now().toISOString();
  const { tenantId } = db;
  const stored = await db.first(findConnector({ tenantId, id }));
  if (stored === undefined) throw await unknown(services, id);
  const { api_key: key } = stored;
  const remove = deleteConnectorRow({ id, ...auditParams(actor, at) });
  const isLeft = tenantId !== systemTenantId && (await isOfInstallation(services, key));
  const deleted = isLeft
    ? await db.interactive.all(remove)
    : (await db.interactive.batch([dropFromOrders({ tenantId, key }), remove]))[1];
  if (deleted.length === 0) throw await unknown(services, id);
}

/** Whether the installation has a connector with the same name, which preferred orders can mean. */
async function isOfInstallation({ database }: Dependencies, key: string): Promise<boolean> {
  return (await database.platform().first(listAddresses({ tenantId: systemTenantId, keys: [key] }))) !== undefined;
}

/** Resets all failures. @throws ConnectorNotFound, SystemLevelConnector */
export async function enableConnector(scope: Scope, id: string) {
  assertMayChange(scope.db, scope.actor);
  return change(scope, id, (stored) => {
    const known = knownOf(missingIn(describe(stored, readableCredentials(scope.services, stored))));
    return { changes: { ...unproven, ...known, enabled: true, action: 'provider.enabled' } };
  });
}

/** @throws ConnectorNotFound, SystemLevelConnector */
export async function disableConnector({ db, actor, services }: Scope, id: string) {
  assertMayChange(db, actor);
  const at = services.now().toISOString();
  const row = await db.interactive.first(disableConnectorRow({ id, at, ...auditParams(actor, at) }));
  if (row === undefined) throw await unknown(services, id);
  return { data: presentConnector(services, row) };
}

/** Runs a health check, also on a disabled connector; an incomplete one is not called. @throws ConnectorNotFound, SystemLevelConnector, TooManyConnectorTests */
export async function testConnector({ db, actor, services }: Scope, id: string, signal: AbortSignal) {
  assertMayChange(db, actor);
  const row = await db.first(findConnector({ tenantId: db.tenantId, id }));
  if (row === undefined) throw await unknown(services, id);
  const limit = { key: `connector-tests:${db.tenantId}`, ...testLimit };
  await createLimitedAttempt(services, [limit], TooManyConnectorTests).admit();
  const data = isIncomplete(row) ? untested(row) : await tested(services, { row, actor, signal });
  const event = { action: 'provider.tested', resourceType: 'provider', resourceId: row.id, details: { ok: data.ok } };
  await db.interactive.all(auditEvent(actor, services.now().toISOString(), event));
  return { data };
}

async function tested(
  services: Dependencies,
  { row, actor, signal }: { row: ConnectorRow; actor: Actor<Person>; signal: AbortSignal },
) {
  const caller = { userId: actor.userId, requestId: actor.request.id };
  const { outcome, latencyMs, health } = await checkConnector(services, { row, caller, signal });
  return { ok: isWell(outcome), status: health.status, latency_ms: latencyMs, error_message: messageOf(outcome) };
}

function untested({ status, error_message }: ConnectorRow) {
  return { ok: false, status, latency_ms: 0, error_message };
}

async function assertRoom(tx: Transaction, tenantId: string): Promise<void> {
  await tx.all(lockConnectors({ tenantId }));
  const counted = await tx.first(countAllConnectors({ tenantId }));
  if (counted!.total >= maxConnectors) throw TooManyConnectors();
}

function assertMayChange(db: TenantDb, actor: Actor<Person>): void {
  if (db.tenantId === systemTenantId && !actor.isSystemAdmin) throw SystemLevelConnector();
}

function assertCallable(services: Dependencies, baseUrl: string): void {
  if (!services.outbound.canTarget(baseUrl)) throw AddressNotAllowed();
}

/** All tenants see the connectors of the installation, so a 403 reveals nothing. */
async function unknown(services: Dependencies, id: string): Promise<Error> {
  return (await findSystemLevel(services, id)) === undefined ? ConnectorNotFound() : SystemLevelConnector();
}

function findSystemLevel(services: Dependencies, id: string): Promise<ConnectorRow | undefined> {
  return services.database.platform().first(findConnector({ tenantId: systemTenantId, id }));
}

function presentConnector(services: Dependencies, row: ConnectorRow) {
  const credentials = readableCredentials(services, row);
  return present(row, credentials === null ? null : maskCredentials(credentials));
}

/** Also null if decryption fails, so that an administrator can still see and repair the connector. */
function readableCredentials(services: Dependencies, row: ConnectorRow): Credentials {
  try {
    return openCredentials(services, row);
  } catch (error) {
    services.log.error({ err: error, connectorId: row.id }, 'the credentials of a connector cannot be opened');
    return null;
  }
}

/** A connector of the installation as other tenants see it: name and health, but no address. */
function presentRedacted(row: ConnectorRow) {
  const hidden = { config: {}, error_message: null, error_details: null, created_by: null };
  return { ...present(row, null), api_base_url: hiddenBaseUrl, ...hidden };
}

// A valid but reserved address (RFC 2606), because clients may parse it.
const hiddenBaseUrl = 'https://hidden.invalid';

function present(row: ConnectorRow, authConfig: Credentials) {
  return {
    id: row.id,
    tenantId: row.tenant_id === systemTenantId ? null : row.tenant_id,
    api_key: row.api_key,
    api_name: row.api_name,
    api_base_url: row.api_base_url,
    config: row.config,
    auth_config: authConfig,
    enabled: row.enabled,
    priority: row.priority,
    status: row.status,
    last_health_check: row.last_health_check,
    last_success: row.last_success,
    last_error: row.last_error,
    error_message: row.error_message,
    error_details: row.error_details,
    consecutive_failures: row.consecutive_failures,
    auto_disable_threshold: row.auto_disable_threshold,
    auto_disabled: row.auto_disabled,
    description: row.description,
    tags: row.tags,
    category: row.category,
    created_at: row.created_at,
    updated_at: row.updated_at,
    created_by: row.created_by,
  };
}
