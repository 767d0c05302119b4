import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  createPersonOfTwo,
  inParallel,
  outboxOf,
  statusOf,
} from '#modules/auth/testing/steps';
import {
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  statusOfFactors,
  twoFactor,
  wrongCode,
  type Enrolled,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, logIn, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;
let root: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  root = await logInSystemAdmin(test);
});

async function createEnrolled(options: { isTenantAdmin?: boolean } = {}): Promise<Person & Enrolled> {
  const person = await createMember(test, tenant, options);
  return { ...person, ...(await enrolTotp(test, clock, person)) };
}

/** As a login through a provider of the tenant does. */
async function bindToTenant({ userId }: Person): Promise<void> {
  await test.service.services.database.credential(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `update sessions set account_wide = false where tenant_id = $1 and user_id = $2 and ended_at is null`,
    values: [tenant.tenantId, userId],
    prepare: false,
  });
  test.service.services.principals.forget(`user:${userId}`);
}

const reset = (by: { token: string }, userId: string, headers: Record<string, string> = {}) =>
  test.call('DELETE', `/api/v1/secure/users/${userId}/two-factor`, { token: by.token, headers });

describe('resetTwoFactor', () => {
  it('204: removes every factor and code, revokes the sessions, and permits a login by password', async () => {
    const person = await createEnrolled();
    expect((await ordinary(test, person)).status).toBe(200);
    const answer = await reset(tenant.admin, person.userId);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expect(await statusOf(test, person.token)).toBe(401);
    const session = await logInAgain(test, person);
    expect((await ordinary(test, session)).status).toBe(200);
    expect(await statusOfFactors(test, session)).toEqual({
      enabled_methods: [],
      backup_codes_remaining: 0,
      requires_2fa: false,
    });
    await enrolTotp(test, clock, session);
    const old = { code: person.backupCodes[0] };
    expectError(await twoFactor(test, 'use-backup', session, old), 401, 'AUTHENTICATION_ERROR');
  });

  it('204: is recorded, and the user is notified', async () => {
    const person = await createEnrolled();
    expect((await reset(tenant.admin, person.userId.toUpperCase())).status).toBe(204);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.reset');
    expect(entry).toMatchObject({ user_id: tenant.admin.userId, resource_id: person.userId });
    expect(entry!.details.actor).toEqual({ type: 'user', id: tenant.admin.userId });
    const [mail] = await outboxOf(test, root, person.email);
    expect(mail).toMatchObject({ subject: 'Your second factors were reset' });
  });

  it('204: by a user whose group permits it', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    expect((await reset(manager, (await createEnrolled()).userId)).status).toBe(204);
  });

  it('204: by an administrator for another administrator', async () => {
    const person = await createEnrolled({ isTenantAdmin: true });
    expect((await reset(tenant.admin, person.userId)).status).toBe(204);
    expect(await statusOf(test, person.token)).toBe(401);
  });

  it('204: changes nothing without a factor', async () => {
    const person = await createMember(test, tenant);
    const before = await auditOf(test, tenant.admin, 'two_factor.reset');
    expect((await reset(tenant.admin, person.userId)).status).toBe(204);
    expect(await statusOf(test, person.token)).toBe(200);
    expect(await auditOf(test, tenant.admin, 'two_factor.reset')).toEqual(before);
    expect(await outboxOf(test, root, person.email)).toEqual([]);
  });

  it('204: 20 concurrent requests are recorded once', async () => {
    const person = await createEnrolled();
    const before = (await auditOf(test, tenant.admin, 'two_factor.reset')).length;
    const answers = await inParallel(20, () => reset(tenant.admin, person.userId));
    expect(countStatuses(answers)).toEqual({ 204: 20 });
    expect(await auditOf(test, tenant.admin, 'two_factor.reset')).toHaveLength(before + 1);
    expect(await outboxOf(test, root, person.email)).toHaveLength(1);
  });

  it('204: a user with too many wrong codes may enrol a new factor at once', async () => {
    const person = await createEnrolled();
    for (let round = 0; round < 6; round++) {
      clock.advance(300_000);
      const session = await logInAgain(test, person);
      const guess = { code: '00000000' };
      for (let count = 0; count < 5; count++) await twoFactor(test, 'use-backup', session, guess);
    }
    const admin = await logInAgain(test, tenant.admin);
    expect((await reset(admin, person.userId)).status).toBe(204);
    await enrolTotp(test, clock, await logInAgain(test, person));
    tenant.admin = admin;
  });

  it.each(['of the account', 'of its tenant'])('204: forgets the wrong codes in a session %s at once', async (kind) => {
    const toSession = async (person: Person) => {
      const session = await logInAgain(test, person);
      if (kind === 'of its tenant') await bindToTenant(session);
      return session;
    };
    const person = await createEnrolled();
    const before = await toSession(person);
    const wrong = {
      verify: { method: 'totp', code: wrongCode(person.secret, clock) },
      'use-backup': { code: '00000000' },
    };
    for (const [operation, body] of Object.entries(wrong)) {
      const statuses = await inParallel(6, () => twoFactor(test, operation, before, body));
      expect(countStatuses(statuses)).toEqual({ 401: 5, 429: 1 });
    }
    expect((await reset(tenant.admin, person.userId)).status).toBe(204);
    const { secret, backupCodes } = await enrolTotp(test, clock, await logInAgain(test, person));
    const again = { method: 'totp', code: freshCode(secret, clock) };
    expect((await twoFactor(test, 'verify', await toSession(person), again)).status).toBe(200);
    const backup = { code: backupCodes[0] };
    expect((await twoFactor(test, 'use-backup', await toSession(person), backup)).status).toBe(200);
  });

  it('400: an invalid id; 401: no credentials; 403: no permission', async () => {
    expectError(await reset(tenant.admin, 'me'), 400, 'VALIDATION_ERROR');
    expectError(await test.call('DELETE', `/api/v1/secure/users/${newId()}/two-factor`), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['users.read'] });
    expectError(await reset(member, (await createMember(test, tenant)).userId), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: the same bytes for an unknown user, a deleted one, and one of another tenant', async () => {
    const stranger = await createTenant(test);
    const deleted = await createEnrolled();
    const url = `/api/v1/secure/users/${deleted.userId}`;
    expect((await test.call('DELETE', url, { token: tenant.admin.token })).status).toBe(204);
    const answers = [];
    for (const id of [newId(), deleted.userId, stranger.admin.userId]) answers.push(await reset(tenant.admin, id));
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('422: the factors of the caller, which only a code disables', async () => {
    const admin = await createEnrolled({ isTenantAdmin: true });
    expectError(await reset(admin, admin.userId), 422, 'UNPROCESSABLE_ENTITY', 'SELF_RESET_NOT_ALLOWED');
    expect((await statusOfFactors(test, admin)).enabled_methods).toHaveLength(1);
  });

  it('422: an administrator, by a user who is not an administrator', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    const admin = await createEnrolled({ isTenantAdmin: true });
    expectError(await reset(manager, admin.userId), 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    expect((await ordinary(test, admin)).status).toBe(200);
  });

  it('422: a user with permissions that the caller lacks', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    const person = await createMember(test, tenant, { permissions: ['users.manage', 'spaces.manage'] });
    await enrolTotp(test, clock, person);
    const refused = await reset(manager, person.userId);
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    expect(refused.body.details.missing).toEqual(['spaces.manage']);
    expect((await statusOfFactors(test, person)).enabled_methods).toHaveLength(1);
    expect((await reset(tenant.admin, person.userId)).status).toBe(204);
  });

  it('422: a suspended user', async () => {
    const person = await createEnrolled();
    const url = `/api/v1/secure/users/${person.userId}`;
    const body = { status: 'suspended' };
    expect((await test.call('PATCH', url, { token: tenant.admin.token, body })).status).toBe(200);
    expectError(await reset(tenant.admin, person.userId), 422, 'UNPROCESSABLE_ENTITY', 'USER_NOT_ACTIVE');
  });
});

describe('an account with several tenants', () => {
  async function createShared() {
    const shared = await createPersonOfTwo(test);
    const { email, password, first, second } = shared;
    const here = await logIn(test, { email, password, tenantId: first.tenantId });
    const { secret } = await enrolTotp(test, clock, here);
    const there = await logIn(test, { email, password, tenantId: second.tenantId });
    return { ...shared, here, there, secret };
  }

  it('409: refuses the administrators of both tenants, and changes nothing', async () => {
    const { first, second, here, there } = await createShared();
    for (const [by, id] of [
      [first.admin, here.userId],
      [second.admin, there.userId],
    ] as const)
      expectError(await reset(by, id), 409, 'CONFLICT', 'ACCOUNT_IN_OTHER_TENANTS');
    expect((await ordinary(test, here)).status).toBe(200);
    expect((await statusOfFactors(test, there)).enabled_methods).toHaveLength(1);
    for (const { admin } of [first, second]) expect(await auditOf(test, admin, 'two_factor.reset')).toEqual([]);
  });

  it('204: by a system administrator who names the tenant; revokes the sessions of both tenants and records it in both audit trails', async () => {
    const { email, first, second, here, there } = await createShared();
    expect((await reset(root, here.userId, { 'x-tenant-id': first.tenantId })).status).toBe(204);
    expect([await statusOf(test, here.token), await statusOf(test, there.token)]).toEqual([401, 401]);
    for (const [each, userId] of [
      [first, here.userId],
      [second, there.userId],
    ] as const) {
      const [entry, ...others] = await auditOf(test, each.admin, 'two_factor.reset');
      expect(others).toEqual([]);
      expect(entry).toMatchObject({ user_id: root.userId, resource_id: userId });
      expect(entry!.details.actor).toEqual({ type: 'user', id: root.userId, actingFromTenantId: systemTenantId });
    }
    expect(await outboxOf(test, root, email)).toContainEqual(
      expect.objectContaining({ subject: 'Your second factors were reset' }),
    );
  });

  it('204: by the administrator of its tenant after it left the other one', async () => {
    const { email, password, first, second, here, there } = await createShared();
    const left = await test.call('DELETE', `/api/v1/secure/users/${there.userId}`, { token: second.admin.token });
    expect(left.status).toBe(204);
    expect((await reset(first.admin, here.userId)).status).toBe(204);
    expect((await ordinary(test, await logIn(test, { email, password }))).status).toBe(200);
  });
});
