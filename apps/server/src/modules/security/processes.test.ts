import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { securitySetting } from '#core/platform/limits/config';
import { createTenant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { startService, testServiceOf, useService, type TestService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const rules = '/api/v1/system/security/ip-rules';
const config = '/api/v1/system/security/config';
const info = '/api/v1/system/info';
const waitOptions = { timeout: 30_000, interval: 5 };
let otherService: Service;
let other: TestService;
let token: string;
let tenant: Tenant;

beforeAll(async () => {
  otherService = await startService({ connection: test.connection });
  other = testServiceOf(otherService, test.connection);
  ({ token } = await logInSystemAdmin(test));
  tenant = await createTenant(test);
});
afterAll(() => otherService.close());

const statusFrom = async (ip: string, service = other) => (await service.call('GET', info, { ip })).status;

describe('another process', () => {
  it('applies a rule, its update and its deletion', async () => {
    const ip = '203.0.113.1';
    const rule = await test.call('POST', rules, { token, body: { range: ip, action: 'block' } });
    await vi.waitUntil(async () => (await statusFrom(ip)) === 403, waitOptions);
    const url = `${rules}/${rule.body.data.id}`;
    await test.call('PATCH', url, { token, body: { action: 'allow' } });
    await vi.waitUntil(async () => (await statusFrom(ip)) === 200, waitOptions);
    await test.call('PATCH', url, { token, body: { action: 'block' } });
    await vi.waitUntil(async () => (await statusFrom(ip)) === 403, waitOptions);
    await test.call('DELETE', url, { token });
    await vi.waitUntil(async () => (await statusFrom(ip)) === 200, waitOptions);
  });

  it('applies the last of many changes', async () => {
    const ip = '203.0.113.2';
    const rule = await test.call('POST', rules, { token, body: { range: ip, action: 'block' } });
    const url = `${rules}/${rule.body.data.id}`;
    for (let at = 0; at < 20; at++)
      await test.call('PATCH', url, { token, body: { action: at % 2 === 0 ? 'allow' : 'block' } });
    await test.call('DELETE', url, { token });
    await vi.waitUntil(() => !otherService.services.limits.rules.isBlocked(ip), waitOptions);
    await otherService.services.limits.rules.reload();
    expect(await statusFrom(ip)).toBe(200);
  });

  it('applies automatic blocks of one process', async () => {
    const ip = '203.0.113.3';
    test.service.services.limits.rules.block(ip, 60_000);
    expect(await statusFrom(ip, test)).toBe(403);
    await vi.waitUntil(async () => (await statusFrom(ip)) === 403, waitOptions);
    const [rule] = (await test.call('GET', `${rules}?address=${ip}`, { token })).body.data;
    await other.call('DELETE', `${rules}/${rule.id}`, { token });
    await vi.waitUntil(async () => (await statusFrom(ip, test)) === 200, waitOptions);
  });

  it('applies the configuration', async () => {
    const current = () => otherService.services.runtimeSettings.current(securitySetting);
    await test.call('PATCH', config, { token, body: { ip_blacklist_enabled: false, queue_timeout_ms: 1234 } });
    await vi.waitUntil(() => current().queue_timeout_ms === 1234, waitOptions);
    expect(current().ip_blacklist_enabled).toBe(false);
    await test.call('PATCH', config, { token, body: { ip_blacklist_enabled: true } });
    await vi.waitUntil(() => current().ip_blacklist_enabled, waitOptions);
  });

  it('that starts later applies all of it to its first request', async () => {
    const ip = '203.0.113.4';
    await test.call('POST', rules, { token, body: { range: ip, action: 'block' } });
    const later = await startService({ connection: test.connection });
    try {
      expect(await statusFrom(ip, testServiceOf(later, test.connection))).toBe(403);
      expect(later.services.runtimeSettings.current(securitySetting).queue_timeout_ms).toBe(1234);
    } finally {
      await later.close();
    }
  });
});

describe('the cache of principals', () => {
  const isVerified = async (session: string) => {
    const verify = vi.spyOn(test.service.services.tokens, 'verify');
    try {
      expect((await test.call('GET', '/api/v1/auth/me', { token: session })).status).toBe(200);
      return verify.mock.calls.length > 0;
    } finally {
      verify.mockRestore();
    }
  };

  it('can be disabled, and revoked credentials are refused in both cases', async () => {
    const kept = (await logIn(test, tenant.admin)).token;
    await isVerified(kept);
    const whileOn = await isVerified(kept);
    await test.call('PATCH', config, { token, body: { cache_enabled: false } });
    await isVerified(kept);
    const whileOff = await isVerified(kept);
    expect(test.service.services.principals.find(kept)).toBe(undefined);
    await test.call('POST', '/api/v1/public/auth/logout', { token: kept });
    expect((await test.call('GET', '/api/v1/auth/me', { token: kept })).status).toBe(401);
    await test.call('PATCH', config, { token, body: { cache_enabled: true } });
    expect((await test.call('GET', '/api/v1/auth/me', { token: kept })).status).toBe(401);
    expect([whileOn, whileOff]).toEqual([false, true]);
  });
});
