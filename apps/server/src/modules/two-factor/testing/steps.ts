import { generateSync } from 'otplib';
import { expect } from 'vitest';

import type { createClock } from '#modules/auth/testing/steps';
import { logIn, type Person } from '#test/support/factories';
import type { Answer, TestService } from '#test/support/harness';

export type Clock = ReturnType<typeof createClock>;

/** What a person keeps who has set up an authenticator app. */
export type Enrolled = { secret: string; backupCodes: string[] };

/** A call of one of the operations on the own second factors. */
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

/** The code that an app shows, made by another implementation than ours. */
export function appCode(secret: string, at: Date, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) + 30 * steps });
}

/** The code of a time step that no earlier code was for. */
export function freshCode(secret: string, clock: Clock): string {
  clock.advance(30_000);
  return appCode(secret, clock.now());
}

/** A code that is right at no time near this one. */
export function wrongCode(secret: string, clock: Clock): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => appCode(secret, clock.now(), steps));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code))!;
}

/** Sets up an authenticator app; the person's session is the one that goes on. */
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

/** Another session of the person. */
export function logInAgain(test: TestService, { email, password }: Person, tenantId?: string): Promise<Person> {
  return logIn(test, { email, password, ...(tenantId === undefined ? {} : { tenantId }) });
}

/** What an ordinary request of the session is answered. */
export function ordinary(test: TestService, { token }: { token: string }): Promise<Answer> {
  return test.call('GET', '/api/v1/secure/spaces', { token });
}

/** Sets what the tenant's settings say about second factors. */
export async function requireFactor(test: TestService, tenantId: string, from: Date): Promise<void> {
  await test.service.services.database.tenant(tenantId).all({
    text: `update tenants set settings = settings || $2 where id = $1`,
    values: [tenantId, { requires2fa: true, twoFactorRequiredFrom: from.toISOString() }],
    prepare: false,
  });
  test.service.services.principals.forget(`tenant:${tenantId}`);
}

/** Access tokens that outlive what the tests do to the clock. */
export const environment = { ACCESS_TOKEN_SECONDS: '3600' };
