import { generateSync } from 'otplib';
import { expect } from 'vitest';

import type { createClock } from '#modules/auth/testing/steps';
import { logIn, type Person } from '#test/support/factories';
import type { Answer, TestService } from '#test/support/harness';

export type Clock = ReturnType<typeof createClock>;

/** Data of a user who has enrolled an authenticator app. */
export type Enrolled = { secret: string; backupCodes: string[] };

/** Calls an operation on the second factors of the caller. */
export function twoFactor(
  test: TestService,
  operation: string,
  { token }: { token: string },
  body?: unknown,
): Promise<Answer> {
  const [method, path] = /^(GET|DELETE) (.*)$/.exec(operation)?.slice(1) ?? ['POST', operation];
  const url = `/api/v1/secure/auth/2fa/${path}`;
  return test.call(method as 'GET' | 'DELETE' | 'POST', url, { token, body });
}

/** The code that an app shows, computed by an independent implementation. */
export function appCode(secret: string, at: Date, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) + 30 * steps });
}

/** The code of a time step without an earlier code. */
export function freshCode(secret: string, clock: Clock): string {
  clock.advance(30_000);
  return appCode(secret, clock.now());
}

/** A code that is wrong at all times near this one. */
export function wrongCode(secret: string, clock: Clock): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => appCode(secret, clock.now(), steps));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code))!;
}

/** Enrols an authenticator app; the session of the user continues. */
export async function enrolTotp(test: TestService, clock: Clock, person: { token: string }): Promise<Enrolled> {
  const enabled = await twoFactor(test, 'enable/totp', person);
  expect(enabled).toMatchObject({ status: 200 });
  const { secret, backup_codes: backupCodes } = enabled.body.data;
  const verified = await twoFactor(test, 'verify', person, { method: 'totp', code: freshCode(secret, clock) });
  expect(verified).toMatchObject({ status: 200 });
  return { secret, backupCodes };
}

export async function statusOfFactors(test: TestService, person: { token: string }) {
  const answer = await twoFactor(test, 'GET status', person);
  expect(answer.status).toBe(200);
  return answer.body.data as {
    enabled_methods: {
      method: string;
      enabled_at: string;
      last_used_at: string | null;
      delivery_target_masked: string | null;
    }[];
    backup_codes_remaining: number;
    requires_2fa: boolean;
  };
}

/** Another session of the user. */
export function logInAgain(test: TestService, { email, password }: Person, tenantId?: string): Promise<Person> {
  return logIn(test, { email, password, ...(tenantId === undefined ? {} : { tenantId }) });
}

/** The answer to an ordinary request of the session. */
export function ordinary(test: TestService, { token }: { token: string }): Promise<Answer> {
  return test.call('GET', '/api/v1/secure/spaces', { token });
}

/** Sets the second-factor settings of the tenant. */
export async function requireFactor(test: TestService, tenantId: string, from: Date): Promise<void> {
  await test.service.services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: `update tenants set settings = settings || $2 where id = $1`,
    values: [tenantId, { requires2fa: true, twoFactorRequiredFrom: from.toISOString() }],
    prepare: false,
  });
  test.service.services.principals.forget(`tenant:${tenantId}`);
}

/** Access tokens that outlive the clock changes of the tests. */
export const environment = { ACCESS_TOKEN_SECONDS: '3600' };
