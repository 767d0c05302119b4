import { beforeAll, describe, expect, it } from 'vitest';

import { auditOf, createClock, createPersonOfTwo, expectNoSecrets } from '#modules/auth/testing/steps';
import {
  enrolTotp,
  environment,
  logInAgain,
  ordinary,
  statusOfFactors,
  twoFactor,
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

const give = (person: { token: string }, code: string) => twoFactor(test, 'use-backup', person, { code });
const remaining = async (person: { token: string }) => (await statusOfFactors(test, person)).backup_codes_remaining;

describe('useBackupCode', () => {
  it('200: performs the step-up, returns the remaining count, and is recorded', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    const answer = await give(session, person.backupCodes[0]!);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { success: true, message: expect.any(String), data: { used: true, remaining: 9 } },
    });
    expect((await ordinary(test, session)).status).toBe(200);
    expect(await remaining(session)).toBe(9);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.backup_code_used');
    expect(entry).toMatchObject({ user_id: person.userId, resource_id: null });
    expectNoSecrets(test, person.backupCodes);
  });

  it('200: accepts every code of the set', async () => {
    const person = await createEnrolled();
    for (const [at, code] of person.backupCodes.entries()) {
      const answer = await give(await logInAgain(test, person), code);
      expect(answer.body.data).toEqual({ used: true, remaining: 9 - at });
    }
  });

  it('200: accepts lower case, groups, and I, L and O for similar characters', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    const spelt = person.backupCodes.map((code) => code.replaceAll('0', 'O').replaceAll('1', 'l'));
    expect((await give(session, spelt[0]!)).status).toBe(200);
    expect((await give(session, spelt[1]!.toLowerCase())).status).toBe(200);
    expect((await give(session, `${spelt[2]!.slice(0, 4)}-${spelt[2]!.slice(4)}`)).status).toBe(200);
    expect((await give(session, ` ${spelt[3]!.slice(0, 4)} ${spelt[3]!.slice(4)} `)).status).toBe(200);
  });

  it('400: a code of another length', async () => {
    for (const code of ['', '1234567', '1234567890123']) {
      expectError(await give(tenant.admin, code), 400, 'VALIDATION_ERROR');
    }
  });

  it('401: a used code, a code of another account, and an invalid code', async () => {
    const [person, other] = [await createEnrolled(), await createEnrolled()];
    const code = person.backupCodes[0]!;
    expect((await give(person, code)).status).toBe(200);
    for (const wrong of [code, other.backupCodes[0]!, '00000000', '123456789012'])
      expectError(await give(person, wrong), 401, 'AUTHENTICATION_ERROR');
    expect(await remaining(person)).toBe(9);
    expect(await remaining(other)).toBe(10);
  });

  it('422: an account without a second factor', async () => {
    const answer = await give(await createMember(test, tenant), '00000000');
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
  });
});

describe('regenerateBackupCodes', () => {
  const regenerate = (person: { token: string }) => twoFactor(test, 'backup-codes', person);

  it('200: replaces all codes by ten new ones, and is recorded', async () => {
    const person = await createEnrolled();
    expect((await give(person, person.backupCodes[0]!)).status).toBe(200);
    const answer = await regenerate(person);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        success: true,
        message: expect.any(String),
        data: { backup_codes: expect.toSatisfy((codes: string[]) => new Set(codes).size === 10), count: 10 },
      },
    });
    const fresh: string[] = answer.body.data.backup_codes;
    expect(fresh.filter((code) => person.backupCodes.includes(code))).toEqual([]);
    expect(await remaining(person)).toBe(10);
    expectError(await give(person, person.backupCodes[1]!), 401, 'AUTHENTICATION_ERROR');
    expect((await give(person, fresh[0]!)).status).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.backup_codes_regenerated');
    expect(entry!.user_id).toBe(person.userId);
    expect(JSON.stringify(entry)).not.toContain(fresh[1]);
    expectNoSecrets(test, fresh);
  });

  it('200: is recorded in the audit trail of every tenant', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const person = await logIn(test, { email, password, tenantId: first.tenantId });
    const { backupCodes } = await enrolTotp(test, clock, person);
    expect((await regenerate(person)).status).toBe(200);
    expectError(await give(person, backupCodes[0]!), 401, 'AUTHENTICATION_ERROR');
    for (const { admin } of [first, second]) {
      expect(await auditOf(test, admin, 'two_factor.backup_codes_regenerated')).toHaveLength(1);
      expect(await auditOf(test, admin, 'two_factor.failed')).toHaveLength(1);
    }
  });

  it('403: before the step-up', async () => {
    const session = await logInAgain(test, await createEnrolled());
    expectError(await regenerate(session), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
  });

  it('409: no enabled second factor, also with a pending enrolment', async () => {
    const person = await createMember(test, tenant);
    expectError(await regenerate(person), 409, 'CONFLICT', 'TWO_FACTOR_MISSING');
    expect((await twoFactor(test, 'enable/totp', person)).status).toBe(200);
    expectError(await regenerate(person), 409, 'CONFLICT', 'TWO_FACTOR_MISSING');
  });
});
