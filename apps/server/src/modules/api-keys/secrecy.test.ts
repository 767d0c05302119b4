import { expect, it } from 'vitest';

import {
  apiKeys,
  createKey,
  listSpacesWith,
  rotateKey,
  statusOfKey,
  toIssuedKey,
} from '#modules/api-keys/testing/keys';
import { expectNoSecrets } from '#modules/auth/testing/steps';
import { listTables, withClient } from '#test/support/database';
import { createTenant } from '#test/support/factories';
import { startService, testServiceOf, useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });

/** Everything that the database holds, as text. */
function dump(): Promise<string> {
  return withClient(test.connection, async (client) => {
    const texts: string[] = [];
    for (const table of await listTables(client)) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${table} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  });
}

it('a key is only in the answer that issues it', async () => {
  const logLines: string[] = [];
  const service = await startService({ connection: test.connection }, logLines);
  const process = testServiceOf(service, test.connection);
  const tenant = await createTenant(process);
  const first = await createKey(process, tenant.admin, { device_fingerprint: 'fingerprint canary' });
  const second = toIssuedKey(await rotateKey(process, tenant, first.id, 60));
  const headers = { 'x-device-fingerprint': 'fingerprint canary' };
  const tampered = `${second.fullKey.slice(0, -1)}!`;
  for (const { fullKey } of [first, second]) {
    expect(await statusOfKey(process, fullKey, { headers })).toBe(200);
    expect(await statusOfKey(process, fullKey)).toBe(403);
    // Common mistakes of clients: the key in the wrong header, in the URL, in a body.
    expect(await statusOfKey(process, 'x', { token: fullKey })).toBe(400);
    expect((await process.call('GET', `${apiKeys}?search=${fullKey}`, { token: fullKey })).status).toBe(401);
    expect((await process.call('GET', `${apiKeys}/${fullKey}`, { token: tenant.admin.token })).status).toBe(400);
    const body = { name: 'x', fullKey };
    expect((await process.call('POST', apiKeys, { token: tenant.admin.token, body })).text).not.toContain(fullKey);
  }
  expect((await listSpacesWith(process, tampered)).text).not.toContain(tampered);
  for (const path of ['', `/${first.id}`, `/${first.id}/usage`]) {
    const { text } = await process.call('GET', `${apiKeys}${path}`, { token: tenant.admin.token });
    for (const { fullKey } of [first, second]) expect(text).not.toContain(fullKey.slice(-49));
  }
  await service.close();

  const secrets = [first, second].flatMap(({ fullKey }) => [fullKey, fullKey.slice(-49), fullKey.slice(-49, -6)]);
  expectNoSecrets({ ...process, logLines }, [...secrets, tampered, 'fingerprint canary']);
  const everything = await dump();
  expect(everything).toContain(first.keyUuid);
  expect(everything).toContain('api_key.rotated');
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});
