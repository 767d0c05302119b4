import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { defaultSecurityConfig, type SecurityConfig } from '#core/platform/limits/config';
import { withClient } from '#test/support/database';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const path = '/api/v1/system/security/config';
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
let token: string;
let tenant: Tenant;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
  tenant = await createTenant(test);
});

const read = () => test.call('GET', path, { token });
const change = (body: unknown, query = '') => test.call('PATCH', path + query, { token, body });

describe('getSecurityConfig', () => {
  it('200: the defaults before any change', async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      id: uuid,
      ...defaultSecurityConfig,
      created_at: time,
      updated_at: time,
      updated_by: null,
    });
    expect(defaultSecurityConfig).toMatchObject({ dos_max_requests_per_ip: 20_000, dos_time_window_seconds: 60 });
  });

  it('401 without credentials, 403 for all callers except system administrators', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', path, { token: tenant.admin.token }), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('updateSecurityConfig', () => {
  it('200: changes only the sent fields; the audit trail names them', async () => {
    const first = await change({ dos_max_requests_per_ip: 30_000, cache_enabled: true });
    expect(first.status).toBe(200);
    expect(first.body.data).toMatchObject({ ...defaultSecurityConfig, dos_max_requests_per_ip: 30_000 });
    const answer = await change({ queue_enabled: false, dos_max_requests_per_ip: 25_000 });
    const expected = { ...defaultSecurityConfig, dos_max_requests_per_ip: 25_000, queue_enabled: false };
    expect(answer.body.data).toEqual({
      id: first.body.data.id,
      ...expected,
      created_at: time,
      updated_at: time,
      updated_by: uuid,
    });
    expect((await read()).body).toEqual(answer.body);
    const { rows } = await withClient(test.connection, (client) =>
      client.query(
        `select tenant_id, action, user_id, resource_id, details from audit_logs
                    where details ->> 'requestId' = $1`,
        [answer.headers['x-request-id']],
      ),
    );
    expect(rows).toEqual([
      {
        tenant_id: systemTenantId,
        action: 'security_config.updated',
        user_id: answer.body.data.updated_by,
        resource_id: answer.body.data.id,
        details: expect.objectContaining({ fields: ['dos_max_requests_per_ip', 'queue_enabled'] }),
      },
    ]);
  });

  it('200: fifty concurrent changes are all kept', async () => {
    const numbers = Object.entries(bounds).map(([name, [min]], at) => [name, min + at] as const);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => {
        const [name, value] = numbers[at % numbers.length]!;
        return change({ [name]: value + 1000 * Math.floor(at / 50) }, '?force=true');
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await read()).body.data).toMatchObject(Object.fromEntries(numbers));
    await change(defaultSecurityConfig);
  });

  const bounds: Readonly<Record<string, readonly [number, number]>> = {
    dos_max_requests_per_ip: [100, 100_000],
    dos_time_window_seconds: [60, 3600],
    dos_block_duration_seconds: [60, 86_400],
    queue_max_size: [100, 50_000],
    queue_timeout_ms: [1000, 120_000],
    ip_blacklist_auto_block_threshold: [3, 1000],
    ip_blacklist_auto_block_duration_seconds: [60, 604_800],
    circuit_breaker_cpu_threshold: [50, 100],
    circuit_breaker_duration_seconds: [5, 3600],
    circuit_breaker_check_interval_seconds: [1, 300],
    cache_max_entries: [100, 1_000_000],
    cache_default_ttl_seconds: [1, 86_400],
  };

  it.each(Object.entries(bounds))('%s: bounds %j', async (name, [min, max]) => {
    for (const value of [min, max]) {
      const { status, body } = await change({ [name]: value }, '?force=true');
      expect([status, body.data[name]]).toEqual([200, value]);
    }
    for (const value of [min - 1, max + 1, min + 0.5, String(min), null, true, -1, 1e300]) {
      expectError(await change({ [name]: value }), 400, 'VALIDATION_ERROR');
    }
    expect((await read()).body.data[name]).toBe(max);
    await change(defaultSecurityConfig);
  });

  const switches = Object.entries(defaultSecurityConfig).flatMap(([name, value]) => (value === true ? [name] : []));

  it('knows the bounds of every field', () => {
    expect([...Object.keys(bounds), ...switches].toSorted()).toEqual(Object.keys(defaultSecurityConfig).toSorted());
  });

  it.each(switches)('%s: only true and false', async (name) => {
    for (const value of [false, true]) {
      const { status, body } = await change({ [name]: value });
      expect([status, body.data[name as keyof SecurityConfig]]).toEqual([200, value]);
    }
    for (const value of ['true', 1, 0, null, [], {}]) {
      expectError(await change({ [name]: value }), 400, 'VALIDATION_ERROR');
    }
  });

  it.each([{}, [], null, 'x', { unknown: 1 }, { id: systemTenantId }, { updated_by: null }, { mode: 'observe' }])(
    '400: %j',
    async (body) => {
      expectError(await change(body), 400, 'VALIDATION_ERROR');
    },
  );

  it('400: an invalid query', async () => {
    expectError(await change({ dos_enabled: true }, '?force=maybe'), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for all callers except system administrators, for every body', async () => {
    expectError(await test.call('PATCH', path, { body: {} }), 401, 'AUTHENTICATION_ERROR');
    const { token: theirs } = tenant.admin;
    expectError(await test.call('PATCH', path, { token: theirs, body: {} }), 403, 'AUTHORIZATION_ERROR');
  });

  it('409: a limit that the caller’s address has already reached, unless it is forced', async () => {
    const ip = '203.0.113.50';
    for (let at = 0; at < 150; at++) await test.call('GET', '/api/v1/system/info', { ip });
    const lower = (query = '') =>
      test.call('PATCH', path + query, { token, ip, body: { dos_max_requests_per_ip: 120 } });
    expectError(await lower(), 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect((await read()).body.data.dos_max_requests_per_ip).toBe(20_000);
    expect((await change({ dos_max_requests_per_ip: 20_000 })).status).toBe(200);
    expect((await lower('?force=true')).status).toBe(200);
    expectError(await test.call('GET', '/api/v1/system/info', { ip }), 429, 'RATE_LIMIT_EXCEEDED');
    // A temporarily exceeded limit must not become a permanent block.
    expect((await change({ ip_blacklist_enabled: false })).status).toBe(200);
    const rules = '/api/v1/system/security/ip-rules';
    const rule = await test.call('POST', rules, { token, body: { range: ip, action: 'block' } });
    expect(rule.status).toBe(201);
    const block = await test.call('PATCH', path, { token, ip, body: { ip_blacklist_enabled: true } });
    expectError(block, 409, 'CONFLICT', 'SELF_LOCKOUT');
    expect((await test.call('DELETE', `${rules}/${rule.body.data.id}`, { token })).status).toBe(204);
    // The recovery path stays open.
    const back = await test.call('PATCH', path, { token, ip, body: defaultSecurityConfig });
    expect(back.status).toBe(200);
  });
});
