import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { checksumBase62 } from '#core/base/crypto/base62';
import { newId } from '#core/base/crypto/ids';
import { newAlphanumericSecret } from '#core/base/crypto/secrets';
import { createApiKeyAuthenticator } from '#modules/api-keys/authenticate';
import { createKey } from '#modules/api-keys/testing/keys';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// On the built-in module, because other files may have loaded ours before.
const hashed = vi.spyOn(crypto, 'createHmac');
const compared = vi.spyOn(crypto, 'timingSafeEqual');
syncBuiltinESMExports();
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const test = useService();
let tenant: Tenant;
const statements: string[] = [];

beforeAll(async () => {
  tenant = await createTenant(test);
});
beforeEach(() => void statements.splice(0));

/** The same services, which record the statements of the authentication. */
function watched() {
  const { services } = test.service;
  const { database } = services;
  const credential: typeof database.credential = (tenantId?: string) => {
    const db = tenantId === undefined ? database.credential() : database.credential(tenantId);
    const first: typeof db.first = (query) => {
      statements.push(query.text);
      return db.first(query);
    };
    return { ...db, first };
  };
  return createApiKeyAuthenticator({ ...services, database: { ...database, credential } });
}

/** The work for a key that is refused. */
async function workFor(key: string) {
  const request = { id: newId(), ip: '192.0.2.1', userAgent: null } as never;
  hashed.mockClear();
  compared.mockClear();
  statements.splice(0);
  const refused = Promise.resolve(watched()(key, {} as never, request));
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
  return {
    statements: [...statements],
    hashes: hashed.mock.calls.length,
    comparisons: compared.mock.calls.length,
  };
}

/** A well-formed key with an unknown secret. */
function keyOf(keyUuid: string): string {
  const body = `svc_sk_${keyUuid}_${newAlphanumericSecret()}`;
  return body + checksumBase62(body);
}

describe('a key that is refused', () => {
  it('needs the same statements, hashes and comparisons, existing or not', async () => {
    const { id, keyUuid } = await createKey(test, tenant.admin);
    const wrongSecret = keyOf(keyUuid);
    const unknown = keyOf(newId());
    const known = await workFor(wrongSecret);
    expect(known).toMatchObject({ statements: [expect.any(String), expect.any(String)], hashes: 1, comparisons: 2 });
    expect(await workFor(unknown)).toEqual(known);
    const grace = { token: tenant.admin.token, headers: {} };
    await test.call('POST', `/api/v1/secure/api-keys/${id}/rotate?graceSeconds=600`, { ...grace, body: {} });
    expect(await workFor(wrongSecret)).toEqual(known);
    const body = { enabled: false };
    await test.call('PATCH', `/api/v1/secure/api-keys/${id}`, { ...grace, body });
    expect(await workFor(wrongSecret)).toEqual(known);
  });
});
