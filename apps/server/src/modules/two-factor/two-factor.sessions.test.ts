import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { systemTenantId } from '#core/base/access/principal';
import { createClock, day, hour, post, statusOf } from '#modules/auth/testing/steps';
import {
  appCode,
  enrolTotp,
  freshCode,
  logInAgain,
  ordinary,
  requireFactor,
  statusOfFactors,
  twoFactor,
  type Enrolled,
  wrongCode,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, startService, useService } from '#test/support/harness';
import { routes, urlOf } from '#test/support/registry';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

async function createEnrolled(options: { isTenantAdmin?: boolean } = {}): Promise<Person & Enrolled> {
  const person = await createMember(test, tenant, options);
  return { ...person, ...(await enrolTotp(test, clock, person)) };
}

/** The operations that admit the session, with any answer to a request without a body. */
async function openTo({ token }: { token: string }, reason: string): Promise<string[]> {
  const open: string[] = [];
  for (const route of routes) {
    if (['public', 'optional', 'anyone', 'dispatcher'].includes(route.access.kind)) continue;
    const answer = await test.call(route.method, urlOf(route, 'totp'), { token });
    if (answer.status !== 403) open.push(route.operationId);
    else expect({ [route.operationId]: answer.body.details.code }).toEqual({ [route.operationId]: reason });
  }
  return open.toSorted();
}

const openBeforeFactor = [
  'getCurrentUser',
  'getTwoFactorStatus',
  'sendTwoFactorCode',
  'useBackupCode',
  'verifyTwoFactor',
];

describe('a session of an account with a second factor', () => {
  it('reaches only itself, refresh and logout before the step-up', async () => {
    const person = await createEnrolled({ isTenantAdmin: true });
    const session = await logInAgain(test, person);
    expect(await openTo(session, 'TWO_FACTOR_REQUIRED')).toEqual(openBeforeFactor);
    const refreshed = await post(test, 'refresh', { refreshToken: session.refreshToken });
    expect(refreshed.status).toBe(200);
    const token = refreshed.body.accessToken;
    expectError(await ordinary(test, { token }), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    expect((await post(test, 'logout', undefined, { token })).status).toBe(200);
    expect(await statusOf(test, token)).toBe(401);
  });

  it('revokes only itself with logout?scope=all before the step-up, and every other session after it', async () => {
    const person = await createEnrolled();
    const [before, after] = [await logInAgain(test, person), await logInAgain(test, person)];
    const answer = await post(test, 'logout?scope=all', undefined, { token: before.token });
    expect(answer).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('Other sessions continue') },
    });
    const alive = () => Promise.all([before, person, after].map(({ token }) => statusOf(test, token)));
    expect(await alive()).toEqual([401, 200, 200]);
    await twoFactor(test, 'verify', after, { method: 'totp', code: freshCode(person.secret, clock) });
    expect((await post(test, 'logout?scope=all', undefined, { token: after.token })).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401]);
  });

  it('evicts no session with a verified factor; 20 of those are kept', async () => {
    const person = await createEnrolled();
    const unverified: Person[] = [];
    for (let count = 0; count < 25; count++) unverified.push(await logInAgain(test, person));
    expect((await ordinary(test, person)).status).toBe(200);
    const alive = await Promise.all(unverified.map(({ token }) => statusOf(test, token)));
    expect(alive.filter((status) => status === 200)).toHaveLength(20);
    const last = unverified.at(-1)!;
    await test.service.services.database.credential(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update sessions set assurance = 2 where tenant_id = $1 and user_id = $2 and ended_at is null
             and id <> (select max(id::text)::uuid from sessions where tenant_id = $1 and user_id = $2)`,
      values: [tenant.tenantId, person.userId],
      prepare: false,
    });
    const code = freshCode(person.secret, clock);
    expect((await twoFactor(test, 'verify', last, { method: 'totp', code })).status).toBe(200);
    await expect.poll(() => statusOf(test, person.token)).toBe(401);
    for (const session of [unverified.at(-20)!, last]) expect((await ordinary(test, session)).status).toBe(200);
  });

  it('survives its step-up although 20 younger sessions have a verified factor', async () => {
    const person = await createEnrolled();
    const older = await logInAgain(test, person);
    const credentials = test.service.services.database.credential(tenant.tenantId);
    const values = [tenant.tenantId, person.userId];
    const newest = 'select max(id::text)::uuid as id from sessions where tenant_id = $1 and user_id = $2';
    const younger: Person[] = [];
    for (let count = 0; count < 20; count++) {
      younger.push(await logInAgain(test, person));
      const text = `update sessions set assurance = 2 where tenant_id = $1 and id = (${newest})`;
      await credentials.interactive.all({ kind: 'write', text, values, prepare: false });
    }
    const code = freshCode(person.secret, clock);
    expect((await twoFactor(test, 'verify', older, { method: 'totp', code })).status).toBe(200);
    expect((await ordinary(test, older)).status).toBe(200);
    await expect.poll(() => statusOf(test, younger[0]!.token)).toBe(401);
    expect((await ordinary(test, younger[1]!)).status).toBe(200);
    expect((await post(test, 'refresh', { refreshToken: older.refreshToken })).status).toBe(200);
  });

  it('gets full access by a code, with the same token, at once and permanently', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    expect((await ordinary(test, session)).status).toBe(403);
    const code = freshCode(person.secret, clock);
    expect((await twoFactor(test, 'verify', session, { method: 'totp', code })).status).toBe(200);
    expect((await ordinary(test, session)).status).toBe(200);
    const refreshed = await post(test, 'refresh', { refreshToken: session.refreshToken });
    expect((await ordinary(test, { token: refreshed.body.accessToken })).status).toBe(200);
  });

  it('accepts codes in full-width digits; wrong ones are refused and counted like others', async () => {
    const person = await createEnrolled();
    const wide = (text: string) =>
      text.replaceAll(/[0-9A-Z]/g, (sign) => String.fromCodePoint(sign.codePointAt(0)! + 0xfee0));
    const byCode = await logInAgain(test, person);
    const code = wide(freshCode(person.secret, clock));
    expect((await twoFactor(test, 'verify', byCode, { method: 'totp', code })).status).toBe(200);
    const byBackup = await logInAgain(test, person);
    const backup = { code: wide(person.backupCodes[0]!) };
    expect((await twoFactor(test, 'use-backup', byBackup, backup)).status).toBe(200);
    const last = await logInAgain(test, person);
    const wrong = { method: 'totp', code: wide(wrongCode(person.secret, clock)) };
    for (let count = 0; count < 5; count++)
      expectError(await twoFactor(test, 'verify', last, wrong), 401, 'AUTHENTICATION_ERROR');
    expect((await twoFactor(test, 'verify', last, wrong)).status).toBe(429);
  });

  it('gets full access by a backup code, and no other session does', async () => {
    const person = await createEnrolled();
    const [session, other] = [await logInAgain(test, person), await logInAgain(test, person)];
    expect((await twoFactor(test, 'use-backup', session, { code: person.backupCodes[0] })).status).toBe(200);
    expect((await ordinary(test, session)).status).toBe(200);
    expect((await ordinary(test, other)).status).toBe(403);
  });

  it('gets no step-up by an enrolment of another session, and cannot start, complete or read one', async () => {
    const person = await createEnrolled();
    await withPendingTotp(person.userId);
    const session = await logInAgain(test, person);
    expectError(
      await twoFactor(test, 'send-code', session, { method: 'email' }),
      422,
      'UNPROCESSABLE_ENTITY',
      'TWO_FACTOR_NOT_ENABLED',
    );
    expectError(
      await twoFactor(test, 'verify', session, { method: 'email', code: '123456' }),
      422,
      'UNPROCESSABLE_ENTITY',
      'TWO_FACTOR_NOT_ENABLED',
    );
    for (const method of ['totp', 'email', 'sms'])
      expectError(
        await twoFactor(test, `enable/${method}`, session),
        403,
        'AUTHORIZATION_ERROR',
        'TWO_FACTOR_REQUIRED',
      );
    expect((await statusOfFactors(test, session)).enabled_methods.map(({ method }) => method)).toEqual(['totp']);
  });

  it('also applies to system administrators, who gain nothing by naming another tenant', async () => {
    const root = await logInSystemAdmin(test);
    const email = `operator-${tenant.domain}@system.example`;
    const password = 'correct horse';
    const created = await test.call('POST', '/api/v1/secure/users', {
      token: root.token,
      body: { email, password },
    });
    expect(created.status).toBe(201);
    await test.service.services.database.tenant(systemTenantId).interactive.all({
      kind: 'write',
      text: 'update users set is_tenant_admin = true where tenant_id = $1 and id = $2',
      values: [systemTenantId, created.body.data.id],
      prepare: false,
    });
    const operator = await logInAgain(test, { email, password } as Person);
    const { secret } = await enrolTotp(test, clock, operator);
    const session = await logInAgain(test, { email, password } as Person);
    const call = { token: session.token, headers: { 'x-tenant-id': tenant.tenantId } };
    expectError(
      await test.call('GET', '/api/v1/secure/users', call),
      403,
      'AUTHORIZATION_ERROR',
      'TWO_FACTOR_REQUIRED',
    );
    const body = { method: 'totp', code: freshCode(secret, clock) };
    const url = '/api/v1/secure/auth/2fa/verify';
    expect((await test.call('POST', url, { ...call, body })).status).toBe(200);
    expect((await test.call('GET', '/api/v1/secure/users', call)).status).toBe(200);
    const deleted = await test.call('DELETE', `/api/v1/secure/users/${created.body.data.id}`, { token: root.token });
    expect(deleted.status).toBe(204);
  });
});

it('the end of the grace period applies at once, also to cached sessions', async () => {
  const own = await createTenant(test);
  await requireFactor(test, own.tenantId, new Date(clock.now().getTime() + 20_000));
  expect((await ordinary(test, own.admin)).status).toBe(200);
  clock.advance(21_000);
  expectError(await ordinary(test, own.admin), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_ENROLMENT_REQUIRED');
});

/** As if another session had started an enrolment of e-mail codes a moment ago. */
async function withPendingTotp(userId: string): Promise<void> {
  await test.service.services.database.credential(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `insert into two_factor_methods (account_id, method, delivery_target, enrolment_expires_at, created_at)
      select account_id, 'email', 'sealed', $2, $3 from users where tenant_id = $1 and id = $4`,
    values: [tenant.tenantId, new Date(clock.now().getTime() + hour).toISOString(), clock.now().toISOString(), userId],
    prepare: false,
  });
}

describe('a session through a provider of one tenant', () => {
  /** The rows that such a login writes. */
  async function vouchedFor(session: Person): Promise<Person> {
    await test.service.services.database.credential(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update sessions set account_wide = false where tenant_id = $1 and user_id = $2 and ended_at is null`,
      values: [tenant.tenantId, session.userId],
      prepare: false,
    });
    test.service.services.principals.forget(`user:${session.userId}`);
    return session;
  }

  it('verifies the factor of the account, but cannot enrol or change factors', async () => {
    const person = await createEnrolled();
    const session = await vouchedFor(await logInAgain(test, person));
    expect((await statusOfFactors(test, session)).enabled_methods).toHaveLength(1);
    const code = freshCode(person.secret, clock);
    expect((await twoFactor(test, 'verify', session, { method: 'totp', code })).status).toBe(200);
    expect((await ordinary(test, session)).status).toBe(200);
    for (const [operation, body] of [
      ['enable/totp', undefined],
      ['backup-codes', undefined],
      ['disable', { method: 'totp', code: person.backupCodes[0] }],
      ['DELETE disable', { method: 'totp', code: person.backupCodes[0] }],
    ] as const)
      expectError(await twoFactor(test, operation, session, body), 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
  });

  it('has its own limit: guesses in it do not lock the account elsewhere', async () => {
    const person = await createEnrolled();
    const session = await vouchedFor(await logInAgain(test, person));
    const wrong = { method: 'totp', code: wrongCode(person.secret, clock) };
    for (let count = 0; count < 5; count++) expect((await twoFactor(test, 'verify', session, wrong)).status).toBe(401);
    expect((await twoFactor(test, 'verify', session, wrong)).status).toBe(429);
    const elsewhere = await logInAgain(test, person);
    const code = freshCode(person.secret, clock);
    expect((await twoFactor(test, 'verify', elsewhere, { method: 'totp', code })).status).toBe(200);
  });

  it('does not complete an enrolment that it could start before', async () => {
    const person = await createMember(test, tenant);
    const { secret } = (await twoFactor(test, 'enable/totp', person)).body.data;
    await vouchedFor(person);
    expectError(
      await twoFactor(test, 'verify', person, { method: 'totp', code: appCode(secret, clock.now()) }),
      422,
      'UNPROCESSABLE_ENTITY',
      'TWO_FACTOR_NOT_ENABLED',
    );
    expect((await statusOfFactors(test, person)).enabled_methods).toEqual([]);
  });
});

describe('a tenant that requires a second factor', () => {
  it('admits a user without one only to the enrolment, and to everything after it', async () => {
    const strict = await createTenant(test);
    const person = await createMember(test, strict, { isTenantAdmin: true });
    await requireFactor(test, strict.tenantId, new Date(clock.now().getTime() - hour));
    expect(await openTo(person, 'TWO_FACTOR_ENROLMENT_REQUIRED')).toEqual(
      [...openBeforeFactor, 'enableTwoFactor'].toSorted(),
    );
    expect((await statusOfFactors(test, person)).requires_2fa).toBe(true);
    await enrolTotp(test, clock, person);
    expect((await ordinary(test, person)).status).toBe(200);
  });

  it('announces the date, and admits every user until then', async () => {
    const strict = await createTenant(test);
    await requireFactor(test, strict.tenantId, new Date(clock.now().getTime() + day));
    const person = await createMember(test, strict);
    expect((await statusOfFactors(test, person)).requires_2fa).toBe(true);
    expect((await ordinary(test, person)).status).toBe(200);
  });
});

describe('a second process', () => {
  let second: Service;

  beforeAll(async () => {
    second = await startService({ now: clock.now });
  });
  afterAll(() => second.close());

  const statusThere = async ({ token }: Person) => {
    const request = { url: '/api/v1/secure/spaces', headers: { authorization: `Bearer ${token}` } };
    return (await second.http.inject(request)).statusCode;
  };
  const until = (person: Person, status: number) =>
    expect.poll(() => statusThere(person), { interval: 5, timeout: 5000 }).toBe(status);

  it('sees the step-up of a session', async () => {
    const person = await createEnrolled();
    for (let round = 0; round < 5; round++) {
      const session = await logInAgain(test, person);
      expect(await statusThere(session)).toBe(403);
      const code = freshCode(person.secret, clock);
      expect((await twoFactor(test, 'verify', session, { method: 'totp', code })).status).toBe(200);
      await until(session, 200);
    }
  });

  it('sees that an enrolment has revoked the other sessions', async () => {
    const person = await createMember(test, tenant);
    const other = await logInAgain(test, person);
    expect([await statusThere(person), await statusThere(other)]).toEqual([200, 200]);
    await enrolTotp(test, clock, person);
    await until(other, 401);
    await until(person, 200);
  });
});
