import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf, newEmail, post } from '#modules/auth/testing/steps';
import { createAppAccount, createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/app-accounts';
const wrong = 'wrong horse battery';

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
});

const login = ({ email, password, tenantId }: { email: string; password: string; tenantId?: string }) =>
  post(test, 'login', { email, password, tenantId });

describe('a user and an app account with the same address', () => {
  /** The app account belongs to the given tenant, the user to `tenant`. */
  async function createBoth(home: Tenant, password?: string) {
    const person = await createMember(test, tenant);
    const app = await createAppAccount(test, home, { email: person.email, ...(password && { password }) });
    return { person, app };
  }
  const idOf = async (who: { email: string; password: string; tenantId?: string }) =>
    (await login(who)).body.user?.id as string | undefined;
  const countFailures = async (of: Tenant) => (await auditOf(test, of.admin, 'auth.login_failed')).length;

  it('200: the user without a tenant and in the user’s own, the app account in its tenant', async () => {
    const { person, app } = await createBoth(other);
    expect(await idOf(person)).toBe(person.userId);
    expect(await idOf({ ...person, tenantId: tenant.tenantId })).toBe(person.userId);
    expect(await idOf(app)).toBe(app.id);
    const crossed = [
      { email: app.email, password: app.password },
      { ...app, tenantId: tenant.tenantId },
      { ...person, tenantId: other.tenantId },
      { ...person, tenantId: newId() },
    ];
    for (const who of crossed) expect(await idOf(who)).toBeUndefined();
  });

  it('200: the named tenant decides, also with the same password', async () => {
    const { person, app } = await createBoth(other, 'one horse for two');
    const changed = await test.call('POST', '/api/v1/auth/change-password', {
      token: person.token,
      body: { currentPassword: person.password, newPassword: app.password },
    });
    expect(changed.status).toBe(200);
    const { email, password } = app;
    expect(await idOf({ email, password })).toBe(person.userId);
    expect(await idOf({ ...app, tenantId: tenant.tenantId })).toBe(person.userId);
    expect(await idOf(app)).toBe(app.id);
  });

  it('401: in a tenant with both, only the user logs in, suspended or not', async () => {
    const { person, app } = await createBoth(tenant);
    const asPerson = { ...person, tenantId: tenant.tenantId };
    expect([await idOf(asPerson), await idOf(app)]).toEqual([person.userId, undefined]);
    const { token } = tenant.admin;
    await test.call('PATCH', `/api/v1/secure/users/${person.userId}`, { token, body: { status: 'suspended' } });
    expect([await idOf(asPerson), await idOf(app)]).toEqual([undefined, undefined]);
    await test.call('DELETE', `/api/v1/secure/users/${person.userId}`, { token });
    expect(await idOf(app)).toBe(app.id);
  });

  it('200: a new password of one revokes no session of the other', async () => {
    const { person, app } = await createBoth(other);
    const ofApp = await logIn(test, app);
    await test.call('POST', '/api/v1/auth/change-password', {
      token: person.token,
      body: { currentPassword: person.password, newPassword: 'another horse' },
    });
    const status = async (token: string) => (await test.call('GET', '/api/v1/auth/me', { token })).status;
    expect([await status(person.token), await status(ofApp.token)]).toEqual([200, 200]);
    await test.call('POST', `${path}/${app.id}/regenerate-password`, { token: other.admin.token });
    expect([await status(person.token), await status(ofApp.token)]).toEqual([200, 401]);
  });

  it('401: an app account does not permit guesses at the password of a user', async () => {
    const attacker = await createTenant(test);
    const { person, app } = await createBoth(attacker);
    const before = await countFailures(tenant);
    // The guess is the password of the app account, so that an attempt that misses the person still succeeds.
    for (const guess of [person.password, 'a guess horse battery']) {
      const set = { token: attacker.admin.token, body: { password: `${guess}, longer` } };
      expect((await test.call('POST', `${path}/${app.id}/set-password`, set)).status).toBe(200);
      const answer = await login({ ...app, password: `${guess}, longer` });
      expect(answer.body.user?.id).toBe(app.id);
    }
    expect((await login({ ...app, password: person.password })).status).toBe(401);
    // There are only ten guesses at the user, also when the app account logs in meanwhile.
    for (let count = 0; count < 10; count++) {
      expect((await login({ email: person.email, password: wrong })).status).toBe(401);
      expect((await login({ ...app, password: 'a guess horse battery, longer' })).status).toBe(200);
    }
    expect((await login({ email: person.email, password: wrong })).status).toBe(429);
    expect(await countFailures(tenant)).toBe(before + 10);
  });

  it('401: a failure counts for its target only, and is recorded only there', async () => {
    const foreign = await createTenant(test);
    const { person, app } = await createBoth(foreign);
    const before = await countFailures(tenant);
    for (let count = 0; count < 10; count++) expect((await login({ ...app, password: wrong })).status).toBe(401);
    expect((await login(app)).status).toBe(429);
    expect([await countFailures(tenant), await countFailures(foreign)]).toEqual([before, 10]);
    expect(await idOf(person)).toBe(person.userId);
    const another = await createBoth(foreign);
    for (let count = 0; count < 10; count++)
      expect((await login({ ...another.person, password: wrong })).status).toBe(401);
    expect((await login(another.person)).status).toBe(429);
    expect(await idOf(another.app)).toBe(another.app.id);
    expect([await countFailures(tenant), await countFailures(foreign)]).toEqual([before + 10, 10]);
  });

  it('429: naming a tenant adds no guesses at the password of a user', async () => {
    const person = await createMember(test, tenant);
    const tenants = [undefined, tenant.tenantId, other.tenantId, newId()];
    for (let count = 0; count < 10; count++) {
      const tenantId = tenants[count % tenants.length];
      expect((await login({ email: person.email, password: wrong, ...(tenantId && { tenantId }) })).status).toBe(401);
    }
    for (const tenantId of tenants)
      expect((await login({ ...person, ...(tenantId && { tenantId }) })).status).toBe(429);
  });
});

describe('a login', () => {
  it('computes exactly one hash for every owner of the address', async () => {
    const app = await createAppAccount(test, other);
    const person = await createMember(test, tenant);
    const both = await createAppAccount(test, other, { email: person.email });
    const suspended = await createAppAccount(test, other);
    const body = { status: 'suspended' };
    await test.call('PATCH', `${path}/${suspended.id}`, { token: other.admin.token, body });
    const attempts: { email: string; password: string; tenantId?: string }[] = [];
    for (const { email, password } of [app, person, both, suspended, { email: newEmail(), password: wrong }]) {
      for (const tenantId of [undefined, tenant.tenantId, other.tenantId, newId()]) {
        for (const given of [password, wrong])
          attempts.push({ email, password: given, ...(tenantId !== undefined && { tenantId }) });
      }
    }
    const { passwords } = test.service.services;
    const verify = vi.spyOn(passwords, 'verify');
    const hash = vi.spyOn(passwords, 'hash');
    const statuses = new Set<number>();
    try {
      for (const attempt of attempts) {
        verify.mockClear();
        statuses.add((await login(attempt)).status);
        expect([verify.mock.calls.length, hash.mock.calls.length]).toEqual([1, 0]);
      }
    } finally {
      verify.mockRestore();
      hash.mockRestore();
    }
    expect(statuses).toEqual(new Set([200, 401]));
  });
});
