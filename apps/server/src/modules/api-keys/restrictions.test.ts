import { beforeAll, describe, expect, it } from 'vitest';

import { createKey, listSpacesWith, statusOfKey } from '#modules/api-keys/testing/keys';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const forwardedFor = (address: string) => ({ 'x-forwarded-for': address });

describe('ip_whitelist', () => {
  it.each<[string[], string[], string[]]>([
    [[], ['192.0.2.7', '2001:db8::1'], []],
    [['192.0.2.7'], ['192.0.2.7', '::ffff:192.0.2.7'], ['192.0.2.8', '127.0.0.1', '2001:db8::1']],
    [['192.0.2.0/25'], ['192.0.2.0', '192.0.2.127'], ['192.0.2.128', '192.0.1.255']],
    [['::ffff:192.0.2.0/120'], ['192.0.2.255', '::ffff:192.0.2.1'], ['192.0.3.0']],
    [['2001:db8::/48'], ['2001:db8::1', '2001:DB8:0:ffff::'], ['2001:db8:1::', '192.0.2.7', '::1']],
    [
      ['2001:db8::7', '192.0.2.7'],
      ['2001:db8::7', '192.0.2.7'],
      ['2001:db8::8', '192.0.2.6'],
    ],
    [['::/0'], ['2001:db8::1'], ['192.0.2.7']],
    [['0.0.0.0/0'], ['192.0.2.7', '::ffff:192.0.2.7'], ['2001:db8::1']],
  ])('%j', async (ip_whitelist, inside, outside) => {
    const { fullKey } = await createKey(test, tenant.admin, { ip_whitelist });
    // Two rounds, so that every address is also checked for a cached key.
    for (const round of [1, 2]) {
      for (const ip of inside) expect([round, ip, await statusOfKey(test, fullKey, { ip })]).toEqual([round, ip, 200]);
      for (const ip of outside)
        expectError(await listSpacesWith(test, fullKey, { ip }), 403, 'AUTHORIZATION_ERROR', 'IP_NOT_ALLOWED');
    }
  });

  it('uses the address of the connection, not X-Forwarded-For', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { ip_whitelist: ['192.0.2.7'] });
    const forged = { ip: '192.0.2.8', headers: forwardedFor('192.0.2.7') };
    expectError(await listSpacesWith(test, fullKey, forged), 403, 'AUTHORIZATION_ERROR', 'IP_NOT_ALLOWED');
    const relayed = { ip: '192.0.2.7', headers: forwardedFor('192.0.2.8') };
    expect(await statusOfKey(test, fullKey, relayed)).toBe(200);
  });

  it('uses X-Forwarded-For from a trusted proxy, the last hop that is not a proxy', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { ip_whitelist: ['192.0.2.7'] });
    const service = await startService({ environment: { TRUSTED_PROXIES: '10.0.0.0/8' }, connection: test.connection });
    const behind = testServiceOf(service, test.connection);
    const status = (ip: string, chain: string) => statusOfKey(behind, fullKey, { ip, headers: forwardedFor(chain) });
    expect(await status('10.0.0.1', '192.0.2.7')).toBe(200);
    expect(await status('10.0.0.1', '192.0.2.7, 10.9.9.9')).toBe(200);
    expect(await status('10.0.0.1', '192.0.2.7, 192.0.2.8')).toBe(403);
    expect(await status('192.0.2.8', '192.0.2.7')).toBe(403);
    await service.close();
  });

  it('is checked per request, not per key', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { ip_whitelist: ['192.0.2.7'] });
    const ips = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? '192.0.2.7' : '192.0.2.8'));
    const statuses = await Promise.all(ips.map((ip) => statusOfKey(test, fullKey, { ip })));
    expect(statuses).toEqual(ips.map((ip) => (ip === '192.0.2.7' ? 200 : 403)));
  });
});

describe('device_fingerprint', () => {
  const withDevice = (fullKey: string, fingerprint: string) =>
    listSpacesWith(test, fullKey, { headers: { 'x-device-fingerprint': fingerprint } });

  it('is required on every request, exactly', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { device_fingerprint: 'Reader 7' });
    for (const round of [1, 2]) {
      expect([round, (await withDevice(fullKey, 'Reader 7')).status]).toEqual([round, 200]);
      for (const wrong of ['', 'reader 7', 'Reader', 'Reader 7 7', 'Reader 8', 'Reader 7, Reader 7'])
        expectError(await withDevice(fullKey, wrong), 403, 'AUTHORIZATION_ERROR', 'DEVICE_NOT_ALLOWED');
      expectError(await listSpacesWith(test, fullKey), 403, 'AUTHORIZATION_ERROR', 'DEVICE_NOT_ALLOWED');
    }
  });

  it('may be any text that a header can contain', async () => {
    for (const device_fingerprint of [' Leser 7 ', 'Türleser 7', 'x'.repeat(500), '{"a":"b"}']) {
      const { fullKey } = await createKey(test, tenant.admin, { device_fingerprint });
      // As a client sends it: trimmed, in the bytes of UTF-8, which arrive as Latin-1.
      const sent = Buffer.from(device_fingerprint.trim(), 'utf8').toString('latin1');
      expect((await withDevice(fullKey, sent)).status).toBe(200);
      expect((await withDevice(fullKey, `${sent}!`)).status).toBe(403);
    }
  });

  it('is checked after the address', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { device_fingerprint: 'x', ip_whitelist: ['192.0.2.7'] });
    const headers = { 'x-device-fingerprint': 'x' };
    expect(await statusOfKey(test, fullKey, { ip: '192.0.2.7', headers })).toBe(200);
    const elsewhere = await listSpacesWith(test, fullKey, { ip: '192.0.2.8' });
    expectError(elsewhere, 403, 'AUTHORIZATION_ERROR', 'IP_NOT_ALLOWED');
  });

  it('does not affect keys without one', async () => {
    const { fullKey } = await createKey(test, tenant.admin);
    expect((await withDevice(fullKey, 'anything')).status).toBe(200);
  });
});
