import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { processPermits } from '#core/base/concurrency/semaphore';
import { ExportRunning, ExportsRunning } from '#modules/audit-logs/audit-logs.errors';
import { withClient } from '#test/support/database';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/audit-logs/export';
const past = 'to=2024-12-31T00:00:00Z';
const rows = 2500;

let tenant: Tenant;
let token: string;

async function plant(tenantId: string, count: number, action = `'=thing.done'`): Promise<void> {
  await withClient(test.connection, (client) =>
    client.query(
      `insert into audit_logs (tenant_id, created_at, id, action, resource_type, details, ip_address, user_agent)
       select $1, timestamptz '2024-01-01' + (n / 3) * interval '1 second', gen_random_uuid(), ${action},
         case when n % 5 = 0 then 'fifth' else 'thing' end, jsonb_build_object('n', n), '192.0.2.1', repeat('x', 200)
       from generate_series(1, $2::integer) as n`,
      [tenantId, count],
    ),
  );
}

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  await plant(tenant.tenantId, rows);
});

const exported = (query: string) => test.call('GET', `${path}?${query}`, { token });
const linesOf = (text: string) => text.split('\n').slice(0, -1);
const read = (text: string): any[] => linesOf(text).map((line) => JSON.parse(line));

describe('exportAuditLogs', () => {
  it('200: all events as lines of JSON, oldest first, each like the list and with its chain position', async () => {
    const { status, headers, text } = await exported(`format=ndjson&${past}`);
    expect([status, headers['content-type']]).toEqual([200, 'application/x-ndjson; charset=utf-8']);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="audit-logs-[0-9-]{10}\.ndjson"$/);
    const found = read(text);
    expect(found).toHaveLength(rows);
    expect(new Set(found.map(({ id }) => id)).size).toBe(rows);
    const keys = found.map((row) => `${row.created_at} ${row.id}`);
    expect(keys).toEqual(keys.toSorted());
    const list = await test.call('GET', `/api/v1/secure/audit-logs?${past}&sort=created_at&limit=1`, { token });
    const place = { chain_slot: null, chain_position: null, chain_hash: null };
    expect(found[0]).toEqual({ ...list.body.data[0], ...place });
  });

  it('200: CSV with a header line and without formulas', async () => {
    const { headers, text } = await exported(past);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const lines = text.split('\r\n').slice(0, -1);
    expect(lines).toHaveLength(rows + 1);
    expect(lines[0]).toBe(
      '"id","tenant_id","created_at","user_id","action","resource_type","resource_id","details","ip_address","user_agent","chain_slot","chain_position","chain_hash"',
    );
    expect(lines[1]).toContain(`,"'=thing.done",`);
    expect(lines[1]).toMatch(/,"\{""n"":\d\}",/);
  });

  it('200: with the filters of the list', async () => {
    const query = `resource_type=fifth&from=2024-01-01T00:00:10Z&to=2024-01-01T00:01:00Z`;
    const found = read((await exported(`format=ndjson&${query}`)).text);
    const list = await test.call('GET', `/api/v1/secure/audit-logs?${query}&sort=created_at&limit=200`, { token });
    expect(found.map(({ id }) => id)).toEqual(list.body.data.map(({ id }: { id: string }) => id));
    expect(found).toHaveLength(list.body.pagination.total);
    expect(found.length).toBeGreaterThan(20);
  });

  it('200: without events only a header line, or an empty answer', async () => {
    expect(linesOf((await exported('to=2020-01-01T00:00:00Z')).text)).toHaveLength(1);
    expect((await exported('format=ndjson&to=2020-01-01T00:00:00Z')).text).toBe('');
  });

  it('200: is recorded, and its own event is not in the export', async () => {
    const answer = await exported('format=ndjson&action=audit_logs.exported&resource_type=audit_logs');
    const requestId = answer.headers['x-request-id'];
    const trail = await test.call('GET', '/api/v1/secure/audit-logs?action=audit_logs.exported', { token });
    expect(trail.body.data[0]).toMatchObject({
      user_id: tenant.admin.userId,
      resource_type: 'audit_logs',
      details: { requestId, format: 'ndjson', fields: ['action', 'resource_type'] },
    });
    expect(answer.text).not.toContain(requestId);
  });

  it('200: events older than a minute, because an earlier event may still be committed', async () => {
    const { tenantId, admin } = await createTenant(test);
    await withClient(test.connection, (client) =>
      client.query(
        `insert into audit_logs (tenant_id, created_at, id, action, resource_type)
         select $1, date_trunc('milliseconds', now()) + n * interval '1 second', gen_random_uuid(), 'thing.done', 'recent'
         from generate_series(-300, 300) as n`,
        [tenantId],
      ),
    );
    const answer = await test.call('GET', `${path}?format=ndjson&resource_type=recent`, { token: admin.token });
    const trail = '/api/v1/secure/audit-logs?limit=1&action=';
    const began = await test.call('GET', `${trail}audit_logs.exported`, { token: admin.token });
    const end = new Date(Date.parse(began.body.data[0].created_at) - 60_000).toISOString();
    const settled = await test.call('GET', `${trail}thing.done&to=${end}`, { token: admin.token });
    const found = read(answer.text);
    expect(found).toHaveLength(settled.body.pagination.total);
    expect(found.at(-1).id).toBe(settled.body.data[0].id);
  });

  it('200: no events of other tenants', async () => {
    const other = await createTenant(test);
    await plant(other.tenantId, 3);
    const answer = await test.call('GET', `${path}?format=ndjson`, { token: other.admin.token });
    expect(new Set(read(answer.text).map((row) => row.tenant_id))).toEqual(new Set([other.tenantId]));
  });

  it('409: a second export of the tenant', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => exported(past)));
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectError(answer, 409, 'CONFLICT', 'EXPORT_RUNNING');
      expect(answer.headers['retry-after']).toBe('5');
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await exported(past)).status).toBe(200);
  });

  it('200 while 50 other tenants read their exports slowly', async () => {
    const permits = Array.from({ length: 50 }, (_, at) =>
      processPermits.acquireNow(
        { key: `export:${at}`, max: 1, refusal: ExportRunning },
        { key: 'exports of trails', max: 64, refusal: ExportsRunning },
      ),
    );
    expect((await exported(past)).status).toBe(200);
    permits.forEach((release) => release());
  });

  it('429 with Retry-After at the limit of concurrent exports, and success afterwards', async () => {
    const permits = Array.from({ length: 64 }, () =>
      processPermits.acquireNow({ key: 'exports of trails', max: 64, refusal: ExportsRunning }),
    );
    const refused = await exported(past);
    permits.forEach((release) => release());
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'AUDIT_EXPORTS_RUNNING');
    expect(refused.headers['retry-after']).toBe('5');
    expect((await exported(past)).status).toBe(200);
  });

  it('200: HEAD takes no permit', async () => {
    const head = await test.raw({ method: 'HEAD', url: path, headers: { authorization: `Bearer ${token}` } });
    expect([head.statusCode, head.payload]).toEqual([200, '']);
    await vi.waitFor(async () => expect((await exported(past)).status).toBe(200), { timeout: 30_000 });
  });

  it('releases its permit when the reader disconnects', async () => {
    const large = await createTenant(test);
    await plant(large.tenantId, 60_000, `'thing.done'`);
    if (!test.service.http.server.listening) await test.service.http.listen({ port: 0, host: '127.0.0.1' });
    const { port } = test.service.http.server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${large.admin.token}` };
    const request = http.get({ port, host: '127.0.0.1', path, headers });
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    expect(answer.statusCode).toBe(200);
    await once(answer, 'readable');
    const again = () => test.call('GET', `${path}?to=2020-01-01T00:00:00Z`, { token: large.admin.token });
    expectError(await again(), 409, 'CONFLICT', 'EXPORT_RUNNING');
    answer.destroy();
    await vi.waitFor(async () => expect((await again()).status).toBe(200), { timeout: 30_000 });
  });

  it.each(['format=xml', 'from=yesterday', 'action=*', 'user_id=me'])('400: %s', async (query) => {
    expectError(await exported(query), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for members without the permission', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['users.read'] });
    expectError(await test.call('GET', path, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });
});
