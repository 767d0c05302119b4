import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { defaultSecurityConfig } from '#core/platform/limits/config';
import { createTenant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

let now = Date.now();
const test = useService({
  ownDatabase: true,
  now: () => new Date(now),
  environment: { TRUSTED_PROXIES: '10.0.0.0/8', ACCESS_TOKEN_SECONDS: '3600' },
});
const config = '/api/v1/system/security/config';
const rules = '/api/v1/system/security/ip-rules';
const info = '/api/v1/system/info';
const health = '/api/v1/system/health';
/** Addresses that no other test in this file uses, and that may be blocked. */
let network = 0;
let ip = '';
let token: string;
let asTenant: string;

let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  await renew();
  await configure({});
});
beforeEach(async () => {
  ip = `203.0.${network++}.1`;
  await renew();
});

/** The clock moves fast here, and tokens expire. */
async function renew(): Promise<void> {
  now += 60_000;
  ({ token } = await logInSystemAdmin(test));
  asTenant = (await logIn(test, tenant.admin)).token;
}

const limits = { dos_max_requests_per_ip: 100, dos_time_window_seconds: 60, dos_block_duration_seconds: 90 };

async function configure(changes: object): Promise<void> {
  const body = { ...defaultSecurityConfig, ...limits, ...changes };
  // From an unused address, so that no limit applies.
  const answer = await test.call('PATCH', `${config}?force=true`, { token, body, ip: '198.51.100.200' });
  expect(answer.status).toBe(200);
}

const get = (from = ip, url = info) => test.call('GET', url, { ip: from });
const statusesOf = async (count: number, from: (at: number) => string = () => ip) =>
  (await Promise.all(Array.from({ length: count }, (_, at) => get(from(at))))).map(({ status }) => status);
const count = (statuses: number[]) =>
  Object.fromEntries(
    Map.groupBy(statuses, String)
      .entries()
      .map(([status, all]) => [status, all.length]),
  );

/** Exceeds the limit by one, and then waits for the end of the block. */
async function violate(from = ip): Promise<void> {
  await statusesOf(101, () => from);
  now += 90_000;
}

describe('the limit per address', () => {
  it.each([50, 100, 101, 150, 200])('%i concurrent requests: exactly a hundred are admitted', async (width) => {
    const { 200: passed, 429: refused = 0 } = count(await statusesOf(width));
    expect([passed, refused]).toEqual([Math.min(width, 100), Math.max(0, width - 100)]);
  });

  it('429 has the end of the block in Retry-After', async () => {
    await statusesOf(100);
    const first = await get();
    expectError(first, 429, 'RATE_LIMIT_EXCEEDED');
    expect(first.headers['retry-after']).toBe('90');
    now += 30_500;
    expect((await get()).headers['retry-after']).toBe('60');
    now += 59_499;
    expect((await get()).headers['retry-after']).toBe('1');
    now += 1;
    expect((await get()).status).toBe(200);
  });

  it('starts again after the window', async () => {
    await statusesOf(100);
    now += 60_000;
    expect(count(await statusesOf(101))).toEqual({ 200: 100, 429: 1 });
  });

  it('counts all requests of all callers, for each address separately', async () => {
    const urls = [info, '/nothing', '/api/v1/secure/spaces', '/docs'];
    await Promise.all(Array.from({ length: 100 }, (_, at) => test.call('GET', urls[at % 4]!, { ip, token: asTenant })));
    expect((await test.call('GET', info, { ip, token: asTenant })).status).toBe(429);
    expect((await test.call('POST', '/api/v1/public/auth/login', { ip, body: {} })).status).toBe(429);
    expect((await get(ip.replace(/1$/, '2'))).status).toBe(200);
  });

  it('counts an IPv6 /64 as one address, and the next as another', async () => {
    const prefix = `2001:db8:${network}`;
    const { 200: passed, 429: refused } = count(await statusesOf(150, (at) => `${prefix}:1::${at.toString(16)}`));
    expect([passed, refused]).toEqual([100, 50]);
    expect((await get(`${prefix}:2::1`)).status).toBe(200);
  });

  it('counts a mapped address as its IPv4 address', async () => {
    expect(count(await statusesOf(150, (at) => (at % 2 === 0 ? ip : `::ffff:${ip}`)))).toEqual({ 200: 100, 429: 50 });
  });

  it('uses X-Forwarded-For from trusted proxies only, with the last address that is not a proxy', async () => {
    const through = (peer: string, forwarded: string) =>
      test.call('GET', info, { ip: peer, headers: { 'x-forwarded-for': forwarded } });
    const clients = Array.from({ length: 120 }, (_, at) => `198.18.${network}.${at}`);
    const spoofed = await Promise.all(clients.map((client) => through(ip, client)));
    expect(count(spoofed.map(({ status }) => status))).toEqual({ 200: 100, 429: 20 });
    const proxied = await Promise.all(clients.map((client) => through('10.1.1.1', client)));
    expect(count(proxied.map(({ status }) => status))).toEqual({ 200: 120 });
    const one = `198.19.${network}.1`;
    const chained = await Promise.all(clients.map((client) => through('10.1.1.1', `${client}, ${one}, 10.2.2.2`)));
    expect(count(chained.map(({ status }) => status))).toEqual({ 200: 100, 429: 20 });
  });

  it('can be disabled, and keeps its counters', async () => {
    await statusesOf(101);
    await configure({ dos_enabled: false });
    expect(count(await statusesOf(150))).toEqual({ 200: 150 });
    await configure({});
    expect((await get()).status).toBe(429);
  });

  it('does not apply to allowed addresses, and applies again afterwards', async () => {
    await statusesOf(101);
    const rule = await test.call('POST', rules, { token, body: { range: ip, action: 'allow' } });
    expect(count(await statusesOf(150))).toEqual({ 200: 150 });
    await test.call('DELETE', `${rules}/${rule.body.data.id}`, { token });
    expect((await get()).status).toBe(429);
  });
});

describe('health', () => {
  it('answers addresses over the limit, within a small limit of its own, and then counts as well', async () => {
    await statusesOf(101);
    const answers = await Promise.all(Array.from({ length: 650 }, () => get(ip, health)));
    expect(count(answers.map(({ status }) => status))).toEqual({ 200: 600, 429: 50 });
    now += 60_000;
    expect((await get(ip, health)).status).toBe(200);
  });

  it('does not use the limit of other operations', async () => {
    await Promise.all(Array.from({ length: 300 }, () => get(ip, health)));
    expect(count(await statusesOf(101))).toEqual({ 200: 100, 429: 1 });
  });
});

describe('the recovery path', () => {
  it('a system administrator reaches only the configuration and the rules', async () => {
    await statusesOf(101);
    for (const url of [config, rules, `${rules}/`, `${config}?x=1`])
      expect((await test.call('GET', url, { token, ip })).status).toBe(200);
    for (const url of [info, '/api/v1/system/security/nothing', '/api/v1/secure/users'])
      expect((await test.call('GET', url, { token, ip })).status).toBe(429);
  });

  it('no other caller does', async () => {
    await statusesOf(101);
    for (const other of [undefined, asTenant, 'rubbish', `${token}x`])
      expectError(await test.call('GET', config, { token: other, ip }), 429, 'RATE_LIMIT_EXCEEDED');
    const both = { 'x-api-key': 'svc_sk_x' };
    expect((await test.call('GET', config, { token, ip, headers: both })).status).toBe(429);
  });

  it('repeated failures close it for a minute, before authentication', async () => {
    await statusesOf(101);
    for (let at = 0; at < 30; at++) await test.call('GET', config, { token: 'rubbish', ip });
    expect((await test.call('GET', config, { token, ip })).status).toBe(429);
    now += 60_000;
    expect((await test.call('GET', config, { token, ip })).status).toBe(200);
  });
});

describe('automatic blocks', () => {
  const threshold = defaultSecurityConfig.ip_blacklist_auto_block_threshold;
  const listed = async (address: string) =>
    (await test.call('GET', `${rules}?address=${address}`, { token, ip: '198.51.100.200' })).body.data;

  it('after the configured number of violations, for the configured time, and then the count restarts', async () => {
    for (let at = 1; at < threshold; at++) await violate();
    expect((await get()).status).toBe(200);
    expect(await listed(ip)).toEqual([]);
    await statusesOf(100);
    // The last one is refused by the block that it caused, from the next request.
    expectError(await get(), 403, 'AUTHORIZATION_ERROR', 'ADDRESS_BLOCKED');
    const seconds = defaultSecurityConfig.ip_blacklist_auto_block_duration_seconds;
    const until = new Date(now + seconds * 1000).toISOString();
    await vi.waitUntil(async () => (await listed(ip)).length === 1, { timeout: 30_000 });
    expect(await listed(ip)).toMatchObject([
      { range: ip, action: 'block', source: 'automatic', created_by: null, expires_at: until },
    ]);
    now += seconds * 1000 - 1;
    expect((await get()).status).toBe(403);
    now += 1;
    await renew();
    for (let at = 1; at < threshold; at++) await violate();
    expect((await get()).status).toBe(200);
  });

  it('blocked requests are not counted, so they cause no further block', async () => {
    for (let at = 0; at < threshold; at++) await violate();
    await vi.waitUntil(async () => (await listed(ip)).length === 1, { timeout: 30_000 });
    const [rule] = await listed(ip);
    expect(count(await statusesOf(150))).toEqual({ 403: 150 });
    await test.call('DELETE', `${rules}/${rule.id}`, { token });
    expect(count(await statusesOf(100))).toEqual({ 200: 100 });
  });

  it('an allow rule removes the block of exactly that address', async () => {
    for (let at = 0; at < threshold; at++) await violate();
    await vi.waitUntil(async () => (await listed(ip)).length === 1, { timeout: 30_000 });
    expect((await get()).status).toBe(403);
    const answer = await test.call('POST', rules, { token, body: { range: ip, action: 'allow' } });
    expect([answer.status, (await get()).status]).toEqual([201, 200]);
    expect(await listed(ip)).toMatchObject([{ action: 'allow', source: 'manual' }]);
  });

  it('cover the /64 of an IPv6 address', async () => {
    const address = `2001:db8:${network}:1::1`;
    for (let at = 0; at < threshold; at++) await violate(address);
    expect((await get(`2001:db8:${network}:1:ffff::9`)).status).toBe(403);
    await vi.waitUntil(async () => (await listed(address)).length === 1, { timeout: 30_000 });
    expect((await listed(address))[0].range).toBe(`2001:db8:${network}:1::/64`);
  });

  it.each(['127.8.8.8', '::1', '10.99.0.1', '192.168.99.1', '172.20.0.9', 'fd00:99::1', '169.254.9.9', '100.64.9.9'])(
    'never of %s, which is limited all the same',
    async (address) => {
      await configure({ ip_blacklist_auto_block_threshold: 3 });
      for (let at = 0; at < 4; at++) await violate(address);
      expect(count(await statusesOf(101, () => address))).toEqual({ 200: 100, 429: 1 });
      expect(await listed(address)).toEqual([]);
      await configure({});
    },
  );

  it.each([{ ip_blacklist_auto_block: false }, { ip_blacklist_enabled: false }])('none with %j', async (off) => {
    await configure({ ...off, ip_blacklist_auto_block_threshold: 3 });
    for (let at = 0; at < 4; at++) await violate();
    expect((await get()).status).toBe(200);
    await configure({});
  });

  it('are not enforced while blocking is disabled', async () => {
    await test.call('POST', rules, { token, body: { range: ip, action: 'block' } });
    expect((await get()).status).toBe(403);
    await configure({ ip_blacklist_enabled: false });
    expect((await get()).status).toBe(200);
    const own = { token, ip, body: { ip_blacklist_enabled: true } };
    expectError(await test.call('PATCH', config, own), 409, 'CONFLICT', 'SELF_LOCKOUT');
    await configure({});
    expect((await get()).status).toBe(403);
  });
});
