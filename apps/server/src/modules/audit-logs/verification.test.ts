import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';

import { processPermits } from '#core/base/concurrency/semaphore';
import { newId } from '#core/base/crypto/ids';
import { auditEvent, chainSlot } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { verifyAuditLogs } from '#modules/audit-logs/verification.service';
import { withClient } from '#test/support/database';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/audit-logs/verify';
const day = 24 * 60 * 60_000;
const start = Date.parse('2025-03-01T00:00:00Z');

let tenant: Tenant;
let requestId: string;
let slot: number;

/** One chain for all rows of these tests, separate from the chains of the tenant's own events. */
beforeEach(async () => {
  tenant = await createTenant(test);
  const taken = (await verify()).chains.map((chain: { slot: number }) => chain.slot);
  let count = 0;
  do requestId = `request-${count++}`;
  while (taken.includes(chainSlot(requestId)));
  slot = chainSlot(requestId);
});

const db = () => test.service.services.database.tenant(tenant.tenantId);

/** Inserts rows into one chain, a day apart. */
async function write(count: number): Promise<void> {
  const request = { id: requestId, ip: '192.0.2.1', userAgent: null, receivedAt: 0 };
  const who = { tenantId: tenant.tenantId, userId: null, request };
  for (let index = 0; index < count; index++) {
    const at = new Date(start + index * day).toISOString();
    await db().interactive.all(
      auditEvent(who, at, { action: 'thing.done', resourceType: 'thing', details: { index } }),
    );
  }
}

async function verify(query = ''): Promise<Answer['body']['data']> {
  const answer = await test.call('GET', `${path}${query}`, { token: tenant.admin.token });
  expect(answer.status).toBe(200);
  return answer.body.data;
}

/** Runs a statement that only the owner of the database may run. */
const tamper = (text: string, ...values: unknown[]) =>
  withClient(test.connection, async (client) => {
    const { rowCount } = await client.query(text.replaceAll('OWN', `tenant_id = '${tenant.tenantId}'`), values);
    return rowCount;
  });

async function problems(query = ''): Promise<unknown[]> {
  const { valid, problems: found } = await verify(query);
  expect(valid).toBe(found.length === 0);
  return found;
}

describe('verifyAuditLogs', () => {
  it('200: valid for everything that the service wrote', async () => {
    for (let index = 0; index < 3; index++)
      await test.call('POST', '/api/v1/secure/contacts', { token: tenant.admin.token, body: {} });
    await write(5);
    const found = await verify();
    expect(found).toMatchObject({ valid: true, isComplete: true, problems: [], from: null, to: null });
    const [counted] = await db().all<{ rows: number }>({
      kind: 'read',
      text: 'select count(*) as rows from audit_logs where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(found.checked).toBe(counted!.rows);
    expect(found.chains.reduce((sum: number, { length }: { length: number }) => sum + length, 0)).toBe(counted!.rows);
  });

  it('200: the hash matches the documentation, computed independently', async () => {
    await write(3);
    const rows = await db().all<any>({
      kind: 'read',
      text: `select * from audit_logs where tenant_id = $1 and chain_slot = $2 order by chain_position`,
      values: [tenant.tenantId, slot],
      prepare: false,
    });
    const details = await db().all<{ text: string | null }>({
      kind: 'read',
      text: `select details::text as text from audit_logs where tenant_id = $1 and chain_slot = $2 order by chain_position`,
      values: [tenant.tenantId, slot],
      prepare: false,
    });
    let hash: Buffer | undefined;
    rows.forEach((row, index) => {
      const fields = [
        row.tenant_id,
        String(Date.parse(row.created_at)),
        row.id,
        row.user_id,
        row.action,
        row.resource_type,
        row.resource_id,
        row.ip_address,
        row.user_agent,
      ];
      const text = fields.map((field) => (field === null ? '-' : `${Buffer.byteLength(field)}:${field}`));
      const digest = createHash('sha256')
        .update(text.join('') + (details[index]!.text ?? '-'))
        .digest();
      hash = hash === undefined ? digest : createHash('sha256').update(hash).update(digest).digest();
      expect(row.chain_hash).toEqual(hash);
    });
    expect((await verify()).chains).toContainEqual({ slot, length: rows.length, head: hash!.toString('hex') });
  });

  it.each([
    ['action', `'thing.undone'`],
    ['resource_type', `'other'`],
    ['resource_id', `gen_random_uuid()`],
    ['user_id', `gen_random_uuid()`],
    ['id', `gen_random_uuid()`],
    ['details', `details || '{"index": 7}'`],
    ['ip_address', `'192.0.2.2'`],
    ['ip_address', `null`],
    ['user_agent', `'forged'`],
    ['created_at', `created_at + interval '1 ms'`],
    ['chain_hash', `sha256('forged')`],
    ['chain_hash', `null`],
  ])('200: a changed %s (%s)', async (column, value) => {
    await write(4);
    const position = 2;
    const text = `update audit_logs set ${column} = ${value} where OWN and chain_slot = $1 and chain_position = $2`;
    expect(await tamper(text, slot, position)).toBe(1);
    const expected = { type: 'changed', slot, position, count: 1, id: expect.any(String) };
    expect(await problems()).toEqual([expected]);
    expect(await problems(`?from=${new Date(start).toISOString()}`)).toEqual([expected]);
  });

  it.each([
    ['the first', 0, 1],
    ['one row in the middle', 2, 1],
    ['two rows in the middle', 2, 2],
    ['the last', 4, 1],
    ['all', 0, 5],
  ])('200: deleted: %s', async (_what, offset, count) => {
    await write(5);
    const position = 1 + offset;
    const text = `delete from audit_logs where OWN and chain_slot = $1 and chain_position >= $2 and chain_position < $3`;
    expect(await tamper(text, slot, position, position + count)).toBe(count);
    const expected = { type: 'missing', slot, position, count, id: null };
    expect(await problems()).toEqual([expected]);
    const from = new Date(start + offset * day - day / 2).toISOString();
    const to = new Date(start + (offset + count) * day - day / 2).toISOString();
    expect(await problems(`?from=${from}&to=${to}`)).toEqual([expected]);
  });

  it('200: the head and its last row deleted together', async () => {
    await write(3);
    const position = 1;
    await tamper(`delete from audit_chains where OWN and slot = $1`, slot);
    expect(await problems()).toEqual([{ type: 'head', slot, position: null, count: position + 2, id: null }]);
  });

  it('200: a head that was set back, or does not match', async () => {
    await write(3);
    const last = 3;
    await tamper(`update audit_chains set head = sha256('forged') where OWN and slot = $1`, slot);
    expect(await problems()).toEqual([{ type: 'head', slot, position: last, count: 1, id: null }]);
    await tamper(
      `update audit_chains set length = length - 1, head = (select chain_hash from audit_logs
         where OWN and chain_slot = $1 and chain_position = $2) where OWN and slot = $1`,
      slot,
      last - 1,
    );
    expect(await problems()).toEqual([{ type: 'inserted', slot, position: last, count: 1, id: null }]);
  });

  const columns = `tenant_id, created_at, id, user_id, action, resource_type, resource_id, details, ip_address, user_agent`;
  const forged = `OWN_ID, '2025-03-02T12:00:00Z', gen_random_uuid(), null, 'thing.forged', 'thing', null, null, null, null`;
  const insert = (place: string) =>
    tamper(
      `insert into audit_logs (${columns}, chain_slot, chain_position, chain_hash)
       values (${forged.replace('OWN_ID', `'${tenant.tenantId}'`)}, ${place})`,
    );

  it('200: rows inserted next to a row, after the last, outside of all chains, and without a chain', async () => {
    await write(3);
    const position = 1;
    const one = { count: 1, id: expect.any(String) };
    await insert(`${slot}, ${position + 1}, sha256('x')`);
    expect(await problems()).toEqual([{ type: 'inserted', slot, position: position + 1, ...one }]);
    await insert(`${slot}, ${position + 3}, sha256('x')`);
    await insert(`99, 1, sha256('x')`);
    await insert(`-1, 1, sha256('x')`);
    await insert(`${slot}, null, sha256('x')`);
    await insert(`null, null, null`);
    const found = await problems();
    expect(found).toHaveLength(6);
    expect(found).toEqual(
      expect.arrayContaining([
        { type: 'inserted', slot, position: position + 3, count: 1, id: null },
        { type: 'inserted', slot: 99, position: null, ...one },
        { type: 'inserted', slot: -1, position: null, ...one },
        { type: 'inserted', slot, position: null, ...one },
        { type: 'inserted', slot: null, position: null, ...one },
      ]),
    );
  });

  it('200: a row inserted, with all later rows moved', async () => {
    await write(4);
    const position = 2;
    await tamper(
      `update audit_logs set chain_position = chain_position + 1 where OWN and chain_slot = $1 and chain_position >= $2`,
      slot,
      position,
    );
    await insert(`${slot}, ${position}, sha256('x')`);
    await tamper(`update audit_chains set length = length + 1 where OWN and slot = $1`, slot);
    expect(await problems()).toEqual([{ type: 'changed', slot, position, count: 1, id: expect.any(String) }]);
  });

  it('200: two rows with swapped positions', async () => {
    await write(6);
    const [left, right] = [2, 5];
    const swap = (column: string) =>
      tamper(
        `update audit_logs as one set ${column} = other.${column} from audit_logs as other
         where one.tenant_id = '${tenant.tenantId}' and other.tenant_id = one.tenant_id and one.chain_slot = $1
           and other.chain_slot = $1 and (one.chain_position, other.chain_position) in (($2, $3), ($3, $2))`,
        slot,
        left,
        right,
      );
    expect(await swap('details')).toBe(2);
    const kinds = (found: any[]) => found.map(({ type, position }) => [type, position]);
    expect(kinds(await problems())).toEqual([
      ['changed', left],
      ['changed', right],
    ]);
    await swap('details');
    expect(await problems()).toEqual([]);
    await tamper(
      `update audit_logs set (chain_position, chain_hash) = (select other.chain_position, other.chain_hash
         from audit_logs as other where other.tenant_id = audit_logs.tenant_id and other.chain_slot = $1
         and other.chain_position = $2 + $3 - audit_logs.chain_position)
       where OWN and chain_slot = $1 and chain_position in ($2::bigint, $3::bigint)`,
      slot,
      left,
      right,
    );
    expect(kinds(await problems())).toEqual([
      ['reordered', left],
      ['reordered', right],
    ]);
  });

  it('200: rows that were written after the start are left for the next verification', async () => {
    await write(2);
    const [during] = await Promise.all([verify(), write(20)]);
    expect(during).toMatchObject({ valid: true, problems: [] });
    expect(await problems()).toEqual([]);
  });

  describe('rows without a chain', () => {
    const old = (at: string) =>
      db().interactive.all({
        kind: 'write',
        text: `insert into audit_logs (tenant_id, created_at, id, action, resource_type) values ($1, $2, $3, 'old.row', 'old')`,
        values: [tenant.tenantId, at, newId()],
        prepare: false,
      });

    it('200: are valid if the tenant is older than the chains', async () => {
      await write(1);
      await tamper(`update tenants set created_at = '2019-01-01' where id = '${tenant.tenantId}'`);
      await old('2020-01-01');
      expect(await problems()).toEqual([]);
      await tamper(`update audit_logs set chain_position = 1 where OWN and action = 'old.row'`);
      expect(await problems()).toHaveLength(1);
    });

    it('200: are reported as inserted, at any time, if the tenant always had chains', async () => {
      await old('2020-01-01');
      await old(new Date().toISOString());
      expect(await problems()).toHaveLength(2);
    });
  });

  it.each([0, -5])('200: a row inserted at position %i, before the start of the chain', async (position) => {
    await write(2);
    await insert(`${slot}, ${position}, sha256('x')`);
    expect(await problems()).toEqual([{ type: 'inserted', slot, position: null, count: 1, id: expect.any(String) }]);
  });

  it('200: stops after a hundred problems', async () => {
    await write(5);
    await tamper(
      `insert into audit_logs (${columns}, chain_slot, chain_position, chain_hash)
       select tenant_id, created_at, gen_random_uuid(), user_id, action, resource_type, resource_id, details, ip_address,
         user_agent, chain_slot, chain_position, chain_hash
       from audit_logs, generate_series(1, 150) where OWN and chain_slot = $1 and chain_position = $2`,
      slot,
      3,
    );
    const found = await verify();
    expect(found).toMatchObject({ valid: false, isComplete: false });
    expect(found.problems).toHaveLength(100);
  });

  it('200: no problems of another tenant', async () => {
    const other = await createTenant(test);
    await write(2);
    await tamper(`update audit_logs set action = 'x' where OWN`);
    const answer = await test.call('GET', path, { token: other.admin.token });
    expect(answer.body.data).toMatchObject({ valid: true, problems: [] });
  });

  it('409: a second verification of the tenant', async () => {
    await write(3);
    const answers = await Promise.all([1, 2, 3].map(() => test.call('GET', path, { token: tenant.admin.token })));
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expectError(answer, 409, 'CONFLICT', 'VERIFICATION_RUNNING');
      expect(answer.headers['retry-after']).toBe('5');
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(await problems()).toEqual([]);
  });

  it('429 with Retry-After while two other tenants verify, and success afterwards', async () => {
    const permits = [1, 2].map(() => processPermits.tryAcquire([{ key: 'verifications', max: 2 }])!);
    const refused = await test.call('GET', path, { token: tenant.admin.token });
    permits.forEach((release) => release());
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'VERIFICATIONS_RUNNING');
    expect(refused.headers['retry-after']).toBe('5');
    expect(await problems()).toEqual([]);
  });

  it('stops after the current batch when the client disconnects, and releases its permit', async () => {
    await write(1);
    const abandoned = new AbortController();
    const read: string[] = [];
    const scope = { tenantId: tenant.tenantId, interactive: { ...db().interactive } };
    scope.interactive.first = async (query) => {
      read.push(query.text);
      abandoned.abort(new Error('the client disconnected'));
      return db().interactive.first(query);
    };
    const running = verifyAuditLogs({ db: scope as TenantDb, signal: abandoned.signal }, {});
    await expect(running).rejects.toThrow('the client disconnected');
    expect(read).toHaveLength(1);
    expect(await problems()).toEqual([]);
  });

  it.each(['from=yesterday', 'to=2020-03-01', 'from=2020-02-30T00:00:00Z'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, { token: tenant.admin.token }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403 and, if to is before from, 422', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    const { token } = await createMember(test, tenant, { permissions: ['users.read'] });
    expectError(await test.call('GET', path, { token }), 403, 'AUTHORIZATION_ERROR');
    const url = `${path}?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z`;
    const answer = await test.call('GET', url, { token: tenant.admin.token });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERIOD_INVALID');
  });
});
