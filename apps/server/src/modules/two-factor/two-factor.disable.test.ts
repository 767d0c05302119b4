import { beforeAll, describe, expect, it } from 'vitest';

import { auditOf, createClock, createPersonOfTwo, statusOf } from '#modules/auth/testing/steps';
import {
  appCode,
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  requireFactor,
  statusOfFactors,
  twoFactor,
  wrongCode,
  type Enrolled,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

async function createEnrolled(): Promise<Person & Enrolled> {
  const person = await createMember(test, tenant);
  return { ...person, ...(await enrolTotp(test, clock, person)) };
}

describe.each(['DELETE disable', 'disable'])('disableTwoFactor by %s', (operation) => {
  const disable = (person: { token: string }, code: string, method = 'totp') =>
    twoFactor(test, operation, person, { method, code });

  it('204: with a code of the app; the other sessions are revoked and no factor is required', async () => {
    const person = await createEnrolled();
    const other = await logInAgain(test, person);
    expect((await give(other, person)).status).toBe(200);
    expect((await ordinary(test, other)).status).toBe(200);
    const answer = await disable(person, freshCode(person.secret, clock));
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expect(await statusOf(test, other.token)).toBe(401);
    expect((await ordinary(test, person)).status).toBe(200);
    expect((await ordinary(test, await logInAgain(test, person))).status).toBe(200);
    expect(await statusOfFactors(test, person)).toEqual({
      enabled_methods: [],
      backup_codes_remaining: 0,
      requires_2fa: false,
    });
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.disabled');
    expect(entry).toMatchObject({ user_id: person.userId, details: { method: 'totp', provenBy: 'totp' } });
  });

  it('204: with a backup code', async () => {
    const person = await createEnrolled();
    expect((await disable(person, person.backupCodes[0]!.toLowerCase())).status).toBe(204);
    expect((await statusOfFactors(test, person)).enabled_methods).toEqual([]);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.disabled');
    expect(entry!.details).toMatchObject({ method: 'totp', provenBy: 'backup_code' });
  });

  it('204: permits a new enrolment with another seed and other backup codes', async () => {
    const person = await createEnrolled();
    expect((await disable(person, freshCode(person.secret, clock))).status).toBe(204);
    const again = await enrolTotp(test, clock, person);
    expect(again.secret).not.toBe(person.secret);
    const session = await logInAgain(test, person);
    const old = { code: person.backupCodes[0] };
    expectError(await twoFactor(test, 'use-backup', session, old), 401, 'AUTHENTICATION_ERROR');
    const code = freshCode(again.secret, clock);
    expect((await twoFactor(test, 'verify', session, { method: 'totp', code })).status).toBe(200);
  });

  it('204: in every tenant of the account', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const here = await logIn(test, { email, password, tenantId: first.tenantId });
    const { secret } = await enrolTotp(test, clock, here);
    const there = await logIn(test, { email, password, tenantId: second.tenantId });
    expect((await disable(here, freshCode(secret, clock))).status).toBe(204);
    expect(await statusOf(test, there.token)).toBe(401);
    const again = await logIn(test, { email, password, tenantId: second.tenantId });
    expect((await ordinary(test, again)).status).toBe(200);
    for (const each of [first, second]) expect(await auditOf(test, each.admin, 'two_factor.disabled')).toHaveLength(1);
  });

  it('400: a code of another length, an unknown method, nothing', async () => {
    const { token } = tenant.admin;
    for (const body of [
      { method: 'totp', code: '12345' },
      { method: 'totp', code: '123456789' },
      { method: 'fax', code: '123456' },
      { method: 'totp' },
      { code: '123456' },
      undefined,
    ])
      expectError(await twoFactor(test, operation, { token }, body), 400, 'VALIDATION_ERROR');
  });

  it('401: a wrong code, a used one, and one of another account; the factor remains', async () => {
    const [person, other] = [await createEnrolled(), await createEnrolled()];
    const used = appCode(person.secret, clock.now(), -1);
    for (const code of [wrongCode(person.secret, clock), used, other.backupCodes[0]!, '1234567'])
      expectError(await disable(person, code), 401, 'AUTHENTICATION_ERROR');
    expect(await statusOfFactors(test, person)).toMatchObject({
      enabled_methods: [{ method: 'totp' }],
      backup_codes_remaining: 10,
    });
  });

  it('403: before the step-up', async () => {
    const person = await createEnrolled();
    const answer = await disable(await logInAgain(test, person), freshCode(person.secret, clock));
    expectError(answer, 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
  });

  it('409: the last factor while the tenant requires one; the code is not consumed', async () => {
    const strict = await createTenant(test);
    const person = await createMember(test, strict);
    const { secret, backupCodes } = await enrolTotp(test, clock, person);
    await requireFactor(test, strict.tenantId, clock.now());
    const code = freshCode(secret, clock);
    for (const given of [code, backupCodes[0]!])
      expectError(await disable(person, given), 409, 'CONFLICT', 'LAST_TWO_FACTOR');
    expect((await statusOfFactors(test, person)).backup_codes_remaining).toBe(10);
    expect((await twoFactor(test, 'verify', person, { method: 'totp', code })).status).toBe(200);
  });

  it('422: not enabled, or a pending enrolment', async () => {
    const person = await createMember(test, tenant);
    const refused = async (method: string) =>
      expectError(await disable(person, '123456', method), 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
    await refused('totp');
    expect((await twoFactor(test, 'enable/totp', person)).status).toBe(200);
    await refused('totp');
    await refused('email');
  });

  function give(session: Person, { backupCodes }: Enrolled) {
    return twoFactor(test, 'use-backup', session, { code: backupCodes[9] });
  }
});
