import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { newRandomId } from '#core/base/crypto/ids';
import { newAlphanumericSecret } from '#core/base/crypto/secrets';
import { announceRevocation } from '#core/data/db/revocation';
import { composeKey } from '#modules/api-keys/api-keys.rules';
import { createKey, listSpacesWith, patchKey, rotateKey, spaces, statusOfKey } from '#modules/api-keys/testing/keys';
import { comparable, createClock, minute } from '#modules/auth/testing/steps';
import { withClient } from '#test/support/database';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
// Revocations of other suites would remove keys from the cache.
const test = useService({ now: clock.now, ownDatabase: true });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const facts = { id: 'request', ip: '127.0.0.1', userAgent: null, receivedAt: 0 };

/** The authenticator itself: its error, or that it needed a query. */
function authenticate(apiKey: string): 'throws' | 'looks up' | 'knows' {
  const credentials = { authorization: undefined, apiKey, tenantId: undefined, deviceFingerprint: undefined };
  try {
    const found = test.service.authenticate(credentials, facts);
    if (!(found instanceof Promise)) return 'knows';
    found.catch(() => undefined);
    return 'looks up';
  } catch {
    return 'throws';
  }
}

describe('a key', () => {
  it('is looked up once and then cached', async () => {
    const { fullKey } = await createKey(test, tenant.admin);
    expect(authenticate(fullKey)).toBe('looks up');
    expect(await statusOfKey(test, fullKey)).toBe(200);
    expect(authenticate(fullKey)).toBe('knows');
  });

  it('whose checksum is wrong never reaches the database', async () => {
    const { fullKey } = await createKey(test, tenant.admin);
    const last = fullKey.at(-1) === 'a' ? 'b' : 'a';
    const tampered = [
      fullKey.slice(0, -1) + last,
      `${fullKey.slice(0, 50)}${fullKey[50] === 'a' ? 'b' : 'a'}${fullKey.slice(51)}`,
      fullKey.replace(/_[0-9a-f]/, (found) => (found === '_0' ? '_1' : '_0')),
    ];
    for (const key of tampered) {
      expect(authenticate(key)).toBe('throws');
      expectError(await listSpacesWith(test, key), 401, 'INVALID_TOKEN');
    }
    const wellFormed = composeKey(newRandomId(), newAlphanumericSecret()).fullKey;
    expect(authenticate(wellFormed)).toBe('looks up');
  });

  it('that is malformed gets 401, 5,000 times, without a query', async () => {
    const { fullKey } = await createKey(test, tenant.admin);
    const latin1 = fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
      maxLength: 200,
    });
    const malformed = fc.oneof(
      latin1,
      latin1.map((text) => `svc_sk_${text}`),
      fc.uuid().map((id) => `svc_sk_${id}_`),
      fc.stringMatching(/^svc_sk_[0-9a-f-]{36}_[0-9A-Za-z]{49}$/),
      fc.tuple(fc.nat({ max: fullKey.length }), latin1).map(([at, text]) => fullKey.slice(0, at) + text),
      fc.tuple(fc.nat({ max: fullKey.length }), latin1).map(([at, text]) => text + fullKey.slice(at)),
    );
    await fc.assert(
      fc.asyncProperty(malformed, async (key) => {
        fc.pre(key !== fullKey && key.trim() !== '');
        expect(authenticate(key)).toBe('throws');
        expect(await statusOfKey(test, key)).toBe(401);
      }),
      { numRuns: 5000 },
    );
  });

  it('that is unknown, wrong, disabled, expired or deleted gets the same answer', async () => {
    const [wrong, disabled, expired, deleted, rotated] = await Promise.all(
      Array.from({ length: 5 }, () => createKey(test, tenant.admin)),
    );
    await patchKey(test, tenant, disabled!.id, { enabled: false });
    await patchKey(test, tenant, expired!.id, { expires_at: '2001-01-01T00:00:00Z' });
    await test.call('DELETE', `/api/v1/secure/api-keys/${deleted!.id}`, { token: tenant.admin.token });
    await rotateKey(test, tenant, rotated!.id);
    const presented = [
      composeKey(newRandomId(), newAlphanumericSecret()).fullKey,
      composeKey(wrong!.keyUuid, newAlphanumericSecret()).fullKey,
      'svc_sk_',
      ...[disabled!, expired!, deleted!, rotated!].map((key) => key.fullKey),
    ];
    const answers = await Promise.all(presented.map((key) => listSpacesWith(test, key)));
    for (const answer of answers) expectError(answer, 401, 'INVALID_TOKEN');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    expect(await statusOfKey(test, wrong!.fullKey)).toBe(200);
  });

  it('is refused after expires_at, cached or not', async () => {
    const expires_at = new Date(clock.now().getTime() + minute).toISOString();
    const { fullKey } = await createKey(test, tenant.admin, { expires_at });
    clock.advance(Date.parse(expires_at) - clock.now().getTime() - 1000);
    expect(await statusOfKey(test, fullKey)).toBe(200);
    clock.advance(1000);
    expect(await statusOfKey(test, fullKey)).toBe(401);
  });

  it('is refused while its tenant is suspended', async () => {
    const own = await createTenant(test);
    const [known, fresh] = [await createKey(test, own.admin), await createKey(test, own.admin)];
    expect(await statusOfKey(test, known.fullKey)).toBe(200);
    const setStatus = async (status: string) => {
      const { tenantId } = own;
      await test.service.services.database.tenant(tenantId).interactive.batch([
        {
          kind: 'write',
          text: 'update tenants set status = $2 where id = $1',
          values: [tenantId, status],
          prepare: false,
        },
        announceRevocation(`tenant:${tenantId}`),
      ]);
      test.service.services.principals.forget(`tenant:${tenantId}`);
    };
    await setStatus('suspended');
    for (const { fullKey } of [known, fresh]) expectError(await listSpacesWith(test, fullKey), 401, 'INVALID_TOKEN');
    await setStatus('active');
    for (const { fullKey } of [known, fresh]) expect(await statusOfKey(test, fullKey)).toBe(200);
  });

  it('acts in its own tenant only', async () => {
    const other = await createTenant(test);
    const { fullKey } = await createKey(test, tenant.admin);
    const created = await test.call('POST', spaces, { token: other.admin.token, body: { name: 'Theirs' } });
    const there = await test.call('GET', `${spaces}/${created.body.data.id}`, { headers: { 'x-api-key': fullKey } });
    expectError(there, 404, 'NOT_FOUND');
    const named = await listSpacesWith(test, fullKey, { headers: { 'x-tenant-id': other.tenantId } });
    expectError(named, 403, 'AUTHORIZATION_ERROR');
    const own = await listSpacesWith(test, fullKey, { headers: { 'x-tenant-id': tenant.tenantId } });
    expect(own.status).toBe(200);
  });

  it('has no user as the author of its changes', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin, { permissions: { spaces: { write: true } } });
    const answer = await test.call('POST', spaces, { headers: { 'x-api-key': fullKey }, body: { name: 'Room' } });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ tenant_id: tenant.tenantId, created_by: null });
    const trail = await test.call('GET', `/api/v1/secure/audit-logs?resource_id=${answer.body.data.id}`, {
      token: tenant.admin.token,
    });
    expect(trail.body.data[0]).toMatchObject({ user_id: null, details: { actor: { type: 'api_key', id } } });
  });
});

describe('one kind of credential is never accepted as another', () => {
  it('a cached key is not a bearer token, and a cached token is not a key', async () => {
    const { fullKey } = await createKey(test, tenant.admin, { ip_whitelist: ['192.0.2.7'] });
    const { token } = tenant.admin;
    expect(await statusOfKey(test, fullKey, { ip: '192.0.2.7' })).toBe(200);
    expect((await test.call('GET', spaces, { token })).status).toBe(200);
    for (const bearer of [fullKey, `X-API-Key ${fullKey}`])
      expectError(await test.call('GET', spaces, { token: bearer }), 401, 'INVALID_TOKEN');
    for (const key of [token, `Bearer ${token}`]) expectError(await listSpacesWith(test, key), 401, 'INVALID_TOKEN');
  });

  it('400: both in one request', async () => {
    const { fullKey } = await createKey(test, tenant.admin);
    const both = await listSpacesWith(test, fullKey, { token: tenant.admin.token });
    expectError(both, 400, 'BAD_REQUEST');
  });
});

describe('security events', () => {
  it('record that a key was verified, once and not on every request', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin);
    for (let call = 0; call < 3; call++) await statusOfKey(test, fullKey, { ip: '192.0.2.7' });
    await test.service.services.securityEvents.close();
    const events = await eventsOf(id);
    expect(events).toEqual([
      {
        event_type: 'api_key_used',
        concerned_tenant_id: tenant.tenantId,
        user_id: null,
        details: { actor: { type: 'api_key', id }, ip: '192.0.2.7', requestId: expect.any(String) },
      },
    ]);
  });

  it('record why a key was refused', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin, {
      ip_whitelist: ['192.0.2.7'],
      device_fingerprint: 'reader 7',
    });
    await statusOfKey(test, fullKey, { ip: '192.0.2.8' });
    await statusOfKey(test, fullKey, { ip: '192.0.2.7' });
    await test.service.services.securityEvents.close();
    const denied = (await eventsOf(id)).filter((event) => event.event_type === 'permission_denied');
    expect(denied.map((event) => event.details)).toEqual([
      expect.objectContaining({ reason: 'IP_NOT_ALLOWED', ip: '192.0.2.8' }),
      expect.objectContaining({ reason: 'DEVICE_NOT_ALLOWED', ip: '192.0.2.7' }),
    ]);
  });
});

/** Security events of a key, oldest first. */
async function eventsOf(id: string): Promise<any[]> {
  await logInSystemAdmin(test);
  return withClient(test.connection, async (client) => {
    const { rows } = await client.query(
      `select event_type, concerned_tenant_id, user_id, details from security_events
       where details -> 'actor' ->> 'id' = $1 order by id`,
      [id],
    );
    return rows;
  });
}
