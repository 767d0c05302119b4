import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { withClient } from '#test/support/database';
import { createTenant, logInSystemAdmin } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

let now = Date.now();
const test = useService({ ownDatabase: true, now: () => new Date(now) });
const path = '/api/v1/system/security/ip-rules';
const info = '/api/v1/system/info';
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
let token: string;
let asTenant: string;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
  asTenant = (await createTenant(test)).admin.token;
});

const create = (body: unknown, more: { ip?: string; query?: string } = {}) =>
  test.call('POST', path + (more.query ?? ''), { token, body, ...(more.ip === undefined ? {} : { ip: more.ip }) });
const created = async (body: object): Promise<string> => {
  const answer = await create(body);
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};
const statusFrom = async (ip: string) => (await test.call('GET', info, { ip })).status;
const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toISOString();

async function trailOf(answer: Answer) {
  const { rows } = await withClient(test.connection, (client) =>
    client.query(
      `select tenant_id, action, resource_type, resource_id, details from audit_logs
                  where details ->> 'requestId' = $1`,
      [answer.headers['x-request-id']],
    ),
  );
  return rows;
}

describe('createIpRule', () => {
  it('201: returns the canonical form, applies at once, is recorded', async () => {
    const expiresAt = inSeconds(3600);
    const body = { range: '::FFFF:198.51.100.0/120', action: 'block', reason: 'scans', expires_at: expiresAt };
    const answer = await create(body);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toEqual({
      ...body,
      id: uuid,
      range: '198.51.100.0/24',
      source: 'manual',
      created_by: uuid,
      created_at: time,
      updated_at: time,
    });
    expect(await statusFrom('198.51.100.1')).toBe(403);
    expectError(await test.call('GET', info, { ip: '198.51.100.1' }), 403, 'AUTHORIZATION_ERROR', 'ADDRESS_BLOCKED');
    expect(await statusFrom('198.51.101.1')).toBe(200);
    expect(await trailOf(answer)).toEqual([
      {
        tenant_id: systemTenantId,
        action: 'ip_rule.created',
        resource_type: 'ip_rule',
        resource_id: answer.body.data.id,
        details: expect.objectContaining({ fields: Object.keys(body), range: '198.51.100.0/24' }),
      },
    ]);
  });

  it.each([
    ['203.0.113.1', '203.0.113.1', '203.0.113.2'],
    ['203.0.113.33/32', '203.0.113.33', '203.0.113.34'],
    ['2001:DB8:10::/48', '2001:db8:10:ffff::1', '2001:db8:11::1'],
    ['2001:db8:20::7', '2001:db8:20::7', '2001:db8:20::8'],
    ['::ffff:203.0.113.65', '203.0.113.65', '203.0.113.66'],
    ['203.0.113.97', '::ffff:203.0.113.97', '::ffff:203.0.113.98'],
  ])('201: %s blocks %s and not %s', async (range, blocked, free) => {
    await created({ range, action: 'block' });
    expect([await statusFrom(blocked), await statusFrom(free)]).toEqual([403, 200]);
  });

  it('201: allow wins over block, in every order and for every size', async () => {
    await created({ range: '192.0.2.0/24', action: 'block' });
    expect(await statusFrom('192.0.2.5')).toBe(403);
    await created({ range: '192.0.2.4/31', action: 'allow' });
    expect([await statusFrom('192.0.2.5'), await statusFrom('192.0.2.6')]).toEqual([200, 403]);
    await created({ range: '192.0.2.5', action: 'block' });
    expect(await statusFrom('192.0.2.5')).toBe(200);
  });

  it('201: has no effect after its expiry, and its range is then free again', async () => {
    const rule = { range: '203.0.113.130', action: 'block' };
    await created({ ...rule, expires_at: inSeconds(60) });
    now += 59_999;
    expect(await statusFrom(rule.range)).toBe(403);
    expectError(await create(rule), 409, 'CONFLICT', 'RANGE_TAKEN');
    now += 1;
    expect(await statusFrom(rule.range)).toBe(200);
    await created(rule);
    expect(await statusFrom(rule.range)).toBe(403);
  });

  it('201: a block applies to every path, known or not, including health', async () => {
    const ip = '203.0.113.140';
    await created({ range: ip, action: 'block' });
    for (const url of ['/', '/api/v1/nothing', '/api/v1/system/health', '/api/v1/public/auth/login', '/docs'])
      expectError(await test.call('POST', url, { ip, body: {} }), 403, 'AUTHORIZATION_ERROR', 'ADDRESS_BLOCKED');
  });

  it('409: the same range in every spelling; one of fifty concurrent requests succeeds', async () => {
    await created({ range: '203.0.113.150', action: 'block' });
    for (const range of ['203.0.113.150', '203.0.113.150/32', '::ffff:203.0.113.150'])
      expectError(await create({ range, action: 'allow' }), 409, 'CONFLICT', 'RANGE_TAKEN');
    const body = { range: '203.0.113.151', action: 'block' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(body)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect([statuses[0], statuses.slice(1)]).toEqual([201, Array.from({ length: 49 }, () => 409)]);
  });

  it.each([
    ['the caller’s address', '203.0.113.160'],
    ['a range around it', '203.0.113.160/30'],
    ['everything', '0.0.0.0/0'],
  ])('409: a block of %s, unless it is meant', async (_what, range) => {
    const ip = '203.0.113.160';
    expectError(await create({ range, action: 'block' }, { ip }), 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect((await test.call('GET', `${path}?address=${ip}`, { token })).body.data).toEqual([]);
    expect(await statusFrom(ip)).toBe(200);
    const forced = await create({ range, action: 'block' }, { ip, query: '?force=true' });
    expect([forced.status, await statusFrom(ip)]).toEqual([201, 403]);
    // A blocked address cannot be locked out, and the recovery path is open.
    const url = `${path}/${forced.body.data.id}`;
    expect((await test.call('PATCH', url, { token, ip, body: { reason: 'mine' } })).status).toBe(200);
    const briefly = { expires_at: inSeconds(60) };
    expect((await test.call('PATCH', url, { token, ip, body: briefly })).status).toBe(200);
    const forEver = await test.call('PATCH', url, { token, ip, body: { expires_at: null } });
    expectError(forEver, 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect((await test.call('DELETE', url, { token, ip })).status).toBe(204);
    expect(await statusFrom(ip)).toBe(200);
  });

  it('409: one of two concurrent requests: a block of the caller’s address, and the setting that enforces it', async () => {
    const ip = '203.0.113.165';
    const patch = (body: object) => test.call('PATCH', '/api/v1/system/security/config?force=true', { token, body });
    for (let round = 0; round < 5; round++) {
      await patch({ ip_blacklist_enabled: false });
      const answers = await Promise.all([
        create({ range: ip, action: 'block' }, { ip }),
        test.call('PATCH', '/api/v1/system/security/config', { token, ip, body: { ip_blacklist_enabled: true } }),
      ]);
      const [{ status, body }, switched] = answers;
      expect([`201 409`, `409 200`]).toContain(`${status} ${switched.status}`);
      if (status === 201) await test.call('DELETE', `${path}/${body.data.id}`, { token });
    }
    await patch({ ip_blacklist_enabled: true });
  });

  it('422: an expiry in the past', async () => {
    for (const seconds of [0, -1]) {
      const body = { range: '203.0.113.170', action: 'block', expires_at: inSeconds(seconds) };
      expectError(await create(body), 422, 'UNPROCESSABLE_ENTITY', 'EXPIRES_IN_THE_PAST');
    }
  });

  it.each([
    {},
    { range: '203.0.113.171' },
    { action: 'block' },
    { range: '203.0.113.171', action: 'deny' },
    { range: '203.0.113.171', action: null },
    { range: '203.0.113.171/33', action: 'block' },
    { range: '203.0.113.0/024', action: 'block' },
    { range: '203.0.113.171/24', action: 'block' },
    { range: '203.0.113.171/0', action: 'block' },
    { range: '203.0.113', action: 'block' },
    { range: 'fe80::1%eth0', action: 'block' },
    { range: '::/129', action: 'block' },
    { range: 'example.com', action: 'block' },
    { range: '', action: 'block' },
    { range: ['203.0.113.171'], action: 'block' },
    { range: '203.0.113.171', action: 'block', source: 'automatic' },
    { range: '203.0.113.171', action: 'block', expires_at: 'tomorrow' },
    { range: '203.0.113.171', action: 'block', reason: 'x'.repeat(501) },
    { range: '203.0.113.171', action: 'block', reason: 'a\0b' },
  ])('400: %j', async (body) => {
    expectError(await create(body), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for all callers except system administrators', async () => {
    for (const [method, url] of [
      ['GET', path],
      ['POST', path],
      ['GET', `${path}/${newId()}`],
      ['PATCH', `${path}/${newId()}`],
      ['DELETE', `${path}/${newId()}`],
    ] as const) {
      expectError(await test.call(method, url), 401, 'AUTHENTICATION_ERROR');
      expectError(await test.call(method, url, { token: asTenant }), 403, 'AUTHORIZATION_ERROR');
    }
  });
});

describe('listIpRules', () => {
  const list = async (query: string) => {
    const { status, body } = await test.call('GET', `${path}?${query}`, { token });
    expect(status).toBe(200);
    return body.data.map((rule: { range: string }) => rule.range);
  };

  it('200: newest first, by address, filtered, page by page', async () => {
    await withClient(test.connection, (client) => client.query('delete from ip_rules'));
    for (const range of ['10.20.0.0/16', '9.0.0.1', '10.20.30.40']) {
      now += 1000;
      await created({ range, action: range === '9.0.0.1' ? 'allow' : 'block', expires_at: inSeconds(10) });
    }
    now += 8500;
    expect(await list('')).toEqual(['10.20.30.40', '9.0.0.1', '10.20.0.0/16']);
    expect(await list('sort=created_at')).toEqual(['10.20.0.0/16', '9.0.0.1', '10.20.30.40']);
    expect(await list('sort=range')).toEqual(['9.0.0.1', '10.20.0.0/16', '10.20.30.40']);
    expect(await list('sort=-range&limit=1&offset=1')).toEqual(['10.20.0.0/16']);
    expect(await list('action=allow')).toEqual(['9.0.0.1']);
    expect(await list('source=automatic')).toEqual([]);
    expect(await list('active=true')).toEqual(['10.20.30.40', '9.0.0.1']);
    expect(await list('active=false')).toEqual(['10.20.0.0/16']);
    expect(await list('address=10.20.30.40&sort=range')).toEqual(['10.20.0.0/16', '10.20.30.40']);
    expect(await list('address=10.20.30.41')).toEqual(['10.20.0.0/16']);
    expect(await list('address=::ffff:9.0.0.1')).toEqual(['9.0.0.1']);
    const { body } = await test.call('GET', `${path}?limit=2`, { token });
    expect(body.pagination).toEqual({ total: 3, limit: 2, offset: 0, hasMore: true });
  });

  it.each(['limit=0', 'limit=201', 'offset=-1', 'sort=reason', 'action=deny', 'source=', 'active=2', 'address=x'])(
    '400: %s',
    async (query) => {
      expectError(await test.call('GET', `${path}?${query}`, { token }), 400, 'VALIDATION_ERROR');
    },
  );
});

describe('getIpRule, updateIpRule, deleteIpRule', () => {
  it('200, 204: reads, updates, deletes; each applies at once and is recorded', async () => {
    const range = '203.0.113.180';
    const url = `${path}/${await created({ range, action: 'block' })}`;
    expect((await test.call('GET', url, { token })).body.data).toMatchObject({ range, action: 'block' });
    const allowed = await test.call('PATCH', url, { token, body: { action: 'allow', reason: 'ours' } });
    expect([allowed.status, allowed.body.data.action, await statusFrom(range)]).toEqual([200, 'allow', 200]);
    expect(await trailOf(allowed)).toMatchObject([
      { tenant_id: systemTenantId, action: 'ip_rule.updated', details: { fields: ['action', 'reason'], range } },
    ]);
    await test.call('PATCH', url, { token, body: { action: 'block' } });
    expect(await statusFrom(range)).toBe(403);
    const ended = await test.call('PATCH', url, { token, body: { expires_at: inSeconds(-3600) } });
    expect([ended.body.data.expires_at, await statusFrom(range)]).toEqual([inSeconds(0), 200]);
    await test.call('PATCH', url, { token, body: { expires_at: null } });
    expect(await statusFrom(range)).toBe(403);
    const gone = await test.call('DELETE', url, { token });
    expect([gone.status, await statusFrom(range)]).toEqual([204, 200]);
    expect(await trailOf(gone)).toMatchObject([{ action: 'ip_rule.deleted', details: { range } }]);
    for (const method of ['GET', 'DELETE'] as const)
      expectError(await test.call(method, url, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('PATCH', url, { token, body: { reason: null } }), 404, 'NOT_FOUND');
  });

  it('409: a change that would block the caller’s address', async () => {
    const ip = '203.0.113.190';
    await created({ range: '203.0.113.188/30', action: 'block' });
    const url = `${path}/${await created({ range: ip, action: 'allow' })}`;
    expectError(await test.call('DELETE', url, { token, ip }), 409, 'CONFLICT', 'SELF_LOCKOUT');
    const block = { action: 'block' };
    expectError(await test.call('PATCH', url, { token, ip, body: block }), 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect(await statusFrom(ip)).toBe(200);
    expect((await test.call('DELETE', `${url}?force=true`, { token, ip })).status).toBe(204);
    expect(await statusFrom(ip)).toBe(403);
  });

  it('409: a change that would block the caller’s address when the rule that allows it expires', async () => {
    const ip = '203.0.113.201';
    const block = `${path}/${await created({ range: '203.0.113.200/30', action: 'block', expires_at: inSeconds(60) })}`;
    const allow = `${path}/${await created({ range: ip, action: 'allow' })}`;
    const end = (url: string, expiresAt: string | null, query = '') =>
      test.call('PATCH', url + query, { token, ip, body: { expires_at: expiresAt } });
    expectError(await end(allow, inSeconds(59)), 409, 'CONFLICT', 'SELF_LOCKOUT');
    // Both expire at the same time, so the block never applies alone.
    expect((await end(allow, inSeconds(60))).status).toBe(200);
    for (const later of [inSeconds(61), null]) expectError(await end(block, later), 409, 'CONFLICT', 'SELF_LOCKOUT');
    const wider = { range: '203.0.113.200/31', action: 'block' };
    expectError(await create(wider, { ip }), 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect((await end(allow, inSeconds(30), '?force=true')).status).toBe(200);
    // A later block than the existing one locks no address out, an earlier one does.
    expect((await end(allow, inSeconds(40))).status).toBe(200);
    expectError(await test.call('DELETE', allow, { token, ip }), 409, 'CONFLICT', 'SELF_LOCKOUT');
    now += 40_000;
    expect(await statusFrom(ip)).toBe(403);
  });

  it.each([{}, { range: '203.0.113.1' }, { action: 'deny' }, { source: 'manual' }, { expires_at: 1 }])(
    '400: %j',
    async (body) => {
      const url = `${path}/${newId()}`;
      expectError(await test.call('PATCH', url, { token, body }), 400, 'VALIDATION_ERROR');
    },
  );
});
