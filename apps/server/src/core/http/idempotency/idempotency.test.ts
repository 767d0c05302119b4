import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { defaultTiming } from '#core/data/db/timing';
import { createIdempotencyKeys } from '#core/http/idempotency/idempotency-keys';
import { createClock } from '#modules/auth/testing/steps';
import { systemJobs } from '#modules/system/system.jobs';
import { endBlocked, untilBlocked, withClient } from '#test/support/database';
import { keyOf, trailOf } from '#test/support/directory';
import { createMember, createTenant, logIn, logInSystemAdmin, unique } from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';

const clock = createClock();
// Tables are locked and privileges withdrawn, which others would feel.
const test = useService({ ownDatabase: true, now: clock.now, databaseTiming: defaultTiming });

const contacts = '/api/v1/secure/contacts';
const unknownId = newId();
const dayMs = 24 * 60 * 60_000;
const minuteMs = 60_000;

const body = { firstName: 'Ada' };
const withKey = (key: string, call: Call = {}): Call => ({
  ...call,
  headers: { ...call.headers, 'idempotency-key': key },
});
const create = (key: string, call: Call) => test.call('POST', contacts, withKey(key, { body, ...call }));
const countOf = async (call: Call): Promise<number> =>
  (await test.call('GET', contacts, call)).body.pagination.total as number;
const query = (text: string, values: unknown[] = []) =>
  withClient(test.connection, async (client) => (await client.query<Record<string, unknown>>(text, values)).rows);
const rowsOf = (tenantId: string) => query('select * from idempotency_keys where tenant_id = $1', [tenantId]);

function expectReplay(again: Answer, first: Answer): void {
  expect({ status: again.status, text: again.text, replayed: again.headers['idempotency-replayed'] }).toEqual({
    status: first.status,
    text: first.text,
    replayed: 'true',
  });
  expect(again.headers['content-type']).toBe(first.headers['content-type']);
}

describe('the same key and the same payload', () => {
  it('is done once and answered alike', async () => {
    const { admin, tenantId } = await createTenant(test);
    const key = unique('key');
    const first = await create(key, admin);
    expect(first).toMatchObject({ status: 201 });
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expectReplay(await create(key, admin), first);
    expectReplay(await create(`"${key}"`, admin), first);
    // Written in another way, it says the same.
    expectReplay(await create(key, { ...admin, body: ' {"firstName": "\\u0041da"}' }), first);
    expect(await countOf(admin)).toBe(1);
    expect(await trailOf(test, tenantId, first.body.data.id)).toHaveLength(1);
  });

  it('is answered with the headers that belong to the content', async () => {
    const { admin } = await createTenant(test);
    const created = await test.call('POST', '/api/v1/secure/api-keys', { ...admin, body: { name: 'Door' } });
    const rotate = () =>
      test.call(
        'POST',
        `/api/v1/secure/api-keys/${created.body.data.id}/rotate?grace_seconds=60`,
        withKey('rotate', admin),
      );
    const first = await rotate();
    const again = await rotate();
    expectReplay(again, first);
    expect(again.headers['x-previous-key-valid-until']).toBe(first.headers['x-previous-key-valid-until']);
    expect(again.headers['x-previous-key-valid-until']).toBeDefined();
  });

  it('is refused alike where it was refused', async () => {
    const { admin } = await createTenant(test);
    const link = () =>
      test.call(
        'POST',
        `/api/v1/secure/spaces/${unknownId}/contacts`,
        withKey('link', { ...admin, body: { contactId: unknownId } }),
      );
    const first = await link();
    expectError(first, 404, 'NOT_FOUND');
    expectReplay(await link(), first);
  });

  it('is done once by fifty at the same time', async () => {
    const { admin } = await createTenant(test);
    const answers = await Promise.all(Array.from({ length: 50 }, () => create('wide', admin)));
    const done = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const answer of refused) {
      expectError(answer, 409, 'CONFLICT', 'IDEMPOTENCY_KEY_IN_USE');
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect(await countOf(admin)).toBe(1);
  });

  it('notifies only once of a change by an administrator', async () => {
    const { admin, tenantId } = await createTenant(test);
    const createGroup = (name: string) =>
      test.call('POST', '/api/v1/secure/groups', withKey(name, { ...admin, body: { name } }));
    const first = await createGroup('first');
    expectReplay(await createGroup('first'), first);
    await createGroup('second');
    const text = `select details->>'requestId' as id from security_events
      where concerned_tenant_id = $1 and details->>'operation' = 'createGroup' order by created_at`;
    const told = await vi.waitUntil(async () => {
      const events = await query(text, [tenantId]);
      return events.length >= 2 && events;
    }, 10_000);
    expect(told).toHaveLength(2);
    expect(told[0]!['id']).toBe(first.headers['x-request-id']);
  });
});

describe('the same key', () => {
  it('of another payload is refused', async () => {
    const { admin } = await createTenant(test);
    const first = await create('reused', admin);
    expectError(
      await create('reused', { ...admin, body: { firstName: 'Eve' } }),
      422,
      'UNPROCESSABLE_ENTITY',
      'IDEMPOTENCY_KEY_REUSED',
    );
    expectReplay(await create('reused', admin), first);
  });

  it('of another person, another credential, another tenant and another operation is another key', async () => {
    const tenant = await createTenant(test);
    const member = await createMember(test, tenant);
    const other = await createTenant(test);
    for (const who of [tenant.admin, member, other.admin]) {
      const answer = await create('mine', { token: who.token });
      expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([201, undefined]);
    }
    const machine = await keyOf(test, tenant, { spaces: { write: true } });
    const spaces = (call: Call) =>
      test.call('POST', '/api/v1/secure/spaces', withKey('mine', { ...call, body: { name: 'House' } }));
    const [byPerson, byMachine] = [await spaces(tenant.admin), await spaces(machine)];
    expect([byPerson.status, byMachine.status]).toEqual([201, 201]);
    expect(byPerson.body.data.id).not.toBe(byMachine.body.data.id);
    expect(await countOf(tenant.admin)).toBe(2);
    expect(await countOf(other.admin)).toBe(1);
  });

  it('may be used again after a day, and is deleted then', async () => {
    const { admin, tenantId } = await createTenant(test);
    const first = await create('daily', admin);
    await create('forgotten', admin);
    clock.advance(dayMs);
    const { token } = await logIn(test, admin);
    const second = await create('daily', { token });
    expect(second).toMatchObject({ status: 201 });
    expect(second.body.data.id).not.toBe(first.body.data.id);
    const job = systemJobs.find(({ name }) => name === 'expired-idempotency-keys')!;
    await job.run({
      services: test.service.services,
      connection: test.connection,
      signal: new AbortController().signal,
    });
    expect(await rowsOf(tenantId)).toHaveLength(1);
    expectReplay(await create('daily', { token }), second);
  });

  it('does not let a revoked credential in', async () => {
    const tenant = await createTenant(test);
    const machine = await keyOf(test, tenant, { spaces: { write: true } });
    const spaces = () =>
      test.call('POST', '/api/v1/secure/spaces', withKey('mine', { ...machine, body: { name: 'House' } }));
    expect(await spaces()).toMatchObject({ status: 201 });
    await query(`update api_keys set enabled = false where tenant_id = $1`, [tenant.tenantId]);
    test.service.services.principals.clear();
    expect((await spaces()).status).toBe(401);
  });
});

describe('an invalid key', () => {
  it.each(['a b', '"a', 'x'.repeat(256), ''])('%j is refused, after what comes first', async (key) => {
    const { admin, tenantId } = await createTenant(test);
    expectError(await create(key, admin), 400, 'BAD_REQUEST', 'IDEMPOTENCY_KEY_INVALID');
    expectError(await create(key, { ...admin, body: { nothing: true } }), 400, 'VALIDATION_ERROR');
    expect((await create(key, {})).status).toBe(401);
    expect(await rowsOf(tenantId)).toEqual([]);
  });

  it('is not looked at where none is taken', async () => {
    const { admin, tenantId } = await createTenant(test);
    expect((await test.call('GET', contacts, withKey('a b', admin))).status).toBe(200);
    const headers = { 'content-type': 'text/plain', 'idempotency-key': 'a b' };
    const upload = () => test.call('POST', '/api/v1/secure/files?name=a.txt', { ...admin, body: 'text', headers });
    expect([(await upload()).status, (await upload()).status]).toEqual([201, 201]);
    await test.call('POST', contacts, { ...admin, body });
    expect(await rowsOf(tenantId)).toEqual([]);
  });
});

describe('a request that fails', () => {
  it('releases the key for a retry if certainly nothing was done', async () => {
    const { admin, tenantId } = await createTenant(test);
    await whileLocked(async (locker) => {
      const first = create('again', admin);
      await locker.untilBlocked();
      expectError(await create('again', admin), 409, 'CONFLICT', 'IDEMPOTENCY_KEY_IN_USE');
      // PostgreSQL gives up waiting for the lock.
      expect(await first).toMatchObject({ status: 503 });
    });
    expect(await rowsOf(tenantId)).toEqual([]);
    expect(await create('again', admin)).toMatchObject({ status: 201 });
    expect(await countOf(admin)).toBe(1);
  });

  it('ends as unknown when the connection was lost on the way', async () => {
    const { admin } = await createTenant(test);
    await whileLocked(async (locker) => {
      const first = create('lost', admin);
      await locker.endBlocked();
      expect(await first).toMatchObject({ status: 503 });
    });
    for (let round = 0; round < 2; round++) {
      expectError(await create('lost', admin), 409, 'CONFLICT', 'IDEMPOTENCY_OUTCOME_UNKNOWN');
    }
    expect(await countOf(admin)).toBe(0);
  });

  it('ends as unknown when its process has died', async () => {
    const { admin, tenantId } = await createTenant(test);
    await create('killed', admin);
    await query(`update idempotency_keys set state = 'claimed', sealed_answer = null where tenant_id = $1`, [tenantId]);
    expectError(await create('killed', admin), 409, 'CONFLICT', 'IDEMPOTENCY_KEY_IN_USE');
    // A process with a fast clock does not take it for dead.
    clock.advance(minuteMs);
    expectError(await create('killed', admin), 409, 'CONFLICT', 'IDEMPOTENCY_KEY_IN_USE');
    await query(`update idempotency_keys set lease_until = now() - interval '1 s' where tenant_id = $1`, [tenantId]);
    expectError(await create('killed', admin), 409, 'CONFLICT', 'IDEMPOTENCY_OUTCOME_UNKNOWN');
    expect(await countOf(admin)).toBe(1);
  });

  it('is answered all the same when its answer cannot be kept at once, and is kept later', async () => {
    const { admin } = await createTenant(test);
    await query('revoke update on idempotency_keys from atrium_tenant');
    try {
      expect(await create('unkept', admin)).toMatchObject({ status: 201 });
      expectError(await create('unkept', admin), 409, 'CONFLICT', 'IDEMPOTENCY_KEY_IN_USE');
    } finally {
      await query('grant update on idempotency_keys to atrium_tenant');
    }
    const again = () => create('unkept', admin);
    await expect
      .poll(again, { timeout: 20_000 })
      .toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
    expect(await countOf(admin)).toBe(1);
  });

  /** Nothing can be written to contacts meanwhile. */
  type Locker = { untilBlocked(): Promise<void>; endBlocked(): Promise<void> };

  async function whileLocked(work: (locker: Locker) => Promise<void>): Promise<void> {
    await withClient(test.connection, async (client) => {
      await client.query('begin');
      await client.query('lock table contacts in exclusive mode');
      const all = async ({ text, values }: { text: string; values: readonly unknown[] }) =>
        (await client.query(text, [...values])).rows as unknown[];
      await work({ untilBlocked: () => untilBlocked({ all }), endBlocked: () => endBlocked({ all }) });
      await client.query('rollback');
    });
  }
});

describe('a kept answer', () => {
  it('shows no secret, and opens nowhere but in its place', async () => {
    const { admin, tenantId } = await createTenant(test);
    const issue = (key: string) =>
      test.call('POST', '/api/v1/secure/api-keys', withKey(key, { ...admin, body: { name: key } }));
    const [first, second] = [await issue('one'), await issue('two')];
    expect(first.body.fullKey).toMatch(/^svc_sk_/);
    const dump = JSON.stringify(await rowsOf(tenantId));
    expect(dump).not.toContain(first.body.fullKey);
    expect(dump).not.toContain(first.body.fullKey.split('_').at(-1));
    expectReplay(await issue('one'), first);
    await query(
      `update idempotency_keys set sealed_answer = (select max(sealed_answer) from idempotency_keys where tenant_id = $1)
       where tenant_id = $1`,
      [tenantId],
    );
    const moved = [await issue('one'), await issue('two')];
    expect(moved.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([201, 500]);
    expect(moved.every(({ text }) => text === first.text || text === second.text || !text.includes('svc_sk_'))).toBe(
      true,
    );
  });

  it('is no longer than 256 KiB; beyond that it is known only that it was done', async () => {
    const { tenantId } = await createTenant(test);
    const keys = createIdempotencyKeys(test.service.services);
    const request = { tenantId, scopeText: 'scope', payloadText: 'payload', leaseMs: minuteMs };
    const claim = await keys.claim(request);
    if (!('claim' in claim)) throw new Error('was claimed before');
    await keys.store(claim, { status: 200, headers: {}, body: 'x'.repeat(256 * 1024 + 1) });
    await expect(keys.claim(request)).rejects.toMatchObject({ details: { code: 'IDEMPOTENCY_ANSWER_TOO_LONG' } });
    const other = { ...request, scopeText: 'other' };
    const answer = { status: 200, headers: {}, body: 'x'.repeat(256 * 1024) };
    await keys.store((await keys.claim(other)) as typeof claim, answer);
    expect(await keys.claim(other)).toEqual(answer);
  });

  it('is of the tenant that a system administrator acts on', async () => {
    const [one, two] = [await createTenant(test), await createTenant(test)];
    const { token } = await logInSystemAdmin(test);
    for (const { tenantId } of [one, two]) {
      const answer = await create('acting', { token, headers: { 'x-tenant-id': tenantId } });
      expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([201, undefined]);
      expect(await rowsOf(tenantId)).toHaveLength(1);
    }
  });
});
