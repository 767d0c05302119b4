import { expect } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Answer, TestService } from '#test/support/harness';

export const path = '/api/v1/secure/admin/external-apis/control-plane';

type Fields = Record<string, unknown>;

const hourMs = 3_600_000;

/** So many milliseconds ago, as the database is told. */
export const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const presentHour = Math.floor(Date.now() / hourMs);
/** When the hour began in which that was, as seen from the beginning of the tests. */
export const hourAgo = (hours: number) => new Date((presentHour - hours) * hourMs).toISOString();

/** As if a provider had been called for the tenant. */
export async function addCall(test: TestService, tenantId: string, fields: Fields = {}): Promise<string> {
  const id = newId();
  const row = {
    tenant_id: tenantId,
    called_at: ago(1000),
    id,
    operation_key: 'translation.text',
    connector_id: newId(),
    provider: 'deepl',
    outcome: 'success',
    latency_ms: 120,
    own_credentials: false,
    ...fields,
  };
  await insert(test.service.services.database.platform(), 'provider_calls', row);
  return id;
}

/** As if these had been added up; requests follow from the rest. */
export async function addHour(test: TestService, tenantId: string, fields: Fields = {}): Promise<void> {
  const counts = { successes: 0, failures: 0, rate_limited: 0, ...fields } as Record<string, number>;
  const row = {
    tenant_id: tenantId,
    hour: hourAgo(0),
    operation_key: 'translation.text',
    provider: 'deepl',
    cache_hits: 0,
    latency_ms: 0,
    characters: 0,
    tokens: 0,
    ...counts,
    requests: counts.successes! + counts.failures! + counts.rate_limited!,
  };
  await insert(test.service.services.database.platform(), 'provider_call_hours', row);
}

/** As if a connector of the tenant had changed its state. */
export async function addEvent(test: TestService, tenantId: string, fields: Fields = {}): Promise<string> {
  const id = newId();
  const row = {
    tenant_id: tenantId,
    id,
    connector_id: newId(),
    provider: 'deepl',
    from_status: 'active',
    to_status: 'degraded',
    severity: 'warning',
    reason: 'answer',
    message: 'It failed.',
    occurred_at: ago(1000),
    ...fields,
  };
  await insert(test.service.services.database.tenant(tenantId), 'connector_events', row);
  return id;
}

type Database = ReturnType<TestService['service']['services']['database']['platform' | 'tenant']>;

async function insert(db: Database, table: string, row: Fields): Promise<void> {
  const names = Object.keys(row);
  await db.interactive.all({
    kind: 'write',
    text: `insert into ${table} (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
    values: Object.values(row),
    prepare: false,
  });
}

export function saveOverride(test: TestService, token: string, body: Fields): Promise<Answer> {
  return test.call('PUT', `${path}/tenant-overrides`, {
    token,
    body: { operation_key: 'translation.text', enabled: true, ...body },
  });
}

/** The override that was saved. */
export async function savedOverride(test: TestService, token: string, body: Fields): Promise<Fields> {
  const answer = await saveOverride(test, token, body);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data;
}
