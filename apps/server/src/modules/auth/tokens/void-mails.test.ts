import { describe, expect, it } from 'vitest';

import {
  createClock,
  inParallel,
  invite,
  mailedToken,
  mailsTo,
  newEmail,
  post,
  requestReset,
  tokenIn,
} from '#modules/auth/testing/steps';
import { createMember, createTenant, proveAddress, type Person } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Without a mail server, so that mails wait.
const clock = createClock();
const test = useService({ now: clock.now });

/** The subjects of the mails to the address that may still be sent, newest first. */
async function waiting({ email }: { email: string }): Promise<string[]> {
  const mails = await mailsTo(test, email);
  for (const { text, given_up_at: givenUpAt, last_error: error } of mails)
    expect([text === '', givenUpAt !== null]).toEqual(error === 'cancelled' ? [true, true] : [false, false]);
  return mails.filter((mail) => mail.given_up_at === null).map(({ subject }) => subject);
}

const reset = 'Set a new password';
const confirm = 'Confirm your address';
const password = 'another horse';

async function createProven(): Promise<Person> {
  const person = await createMember(test, await createTenant(test));
  await proveAddress(test, person.email);
  return person;
}

const changePassword = ({ token, password: currentPassword }: Person) =>
  test.call('POST', '/api/v1/auth/change-password', { token, body: { currentPassword, newPassword: password } });

describe('a reset mail that waits', () => {
  it('is cancelled when a newer one is requested, also by parallel requests', async () => {
    const person = await createProven();
    const answers = await inParallel(3, () => post(test, 'forgot-password', { email: person.email }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await waiting(person)).toEqual([reset]);
    expect(
      (await post(test, 'reset-password', { token: await mailedToken(test, person.email), password })).status,
    ).toBe(200);
  });

  it('is cancelled when its token is used, as if the server had taken it without a confirmation', async () => {
    const person = await createProven();
    const token = await requestReset(test, person.email);
    expect((await post(test, 'reset-password', { token, password })).status).toBe(200);
    expect(await waiting(person)).toEqual([]);
  });

  it('is cancelled when the password is changed', async () => {
    const person = await createProven();
    await requestReset(test, person.email);
    expect((await changePassword(person)).status).toBe(200);
    expect(await waiting(person)).toEqual([]);
  });

  it('is kept while its link to disown the account is valid', async () => {
    const person = await createMember(test, await createTenant(test));
    await requestReset(test, person.email);
    expect((await changePassword(person)).status).toBe(200);
    expect(await waiting(person)).toEqual([reset]);
    await requestReset(test, person.email);
    expect(await waiting(person)).toEqual([reset]);
    const [mail] = await mailsTo(test, person.email);
    const token = /\/disown-account#token=([\w-]{43})\n/.exec(mail!.text)![1]!;
    expect((await post(test, 'disown-account', { token })).status).toBe(200);
    expect(await waiting(person)).toEqual([]);
  });
});

describe('a verification mail that waits', () => {
  const resend = ({ token }: Person) => test.call('POST', '/api/v1/auth/resend-verification', { token });

  it('is cancelled when another one is sent, and when the address is verified with any of them', async () => {
    const { admin } = await createTenant(test);
    const first = await mailedToken(test, admin.email);
    expect((await resend(admin)).status).toBe(200);
    expect(await waiting(admin)).toEqual([confirm]);
    expect((await post(test, 'verify-email', { token: first })).status).toBe(200);
    expect(await waiting(admin)).toEqual([]);
  });

  it('is cancelled when a reset verifies the address', async () => {
    const { admin } = await createTenant(test);
    expect(await waiting(admin)).toEqual([confirm]);
    const token = await requestReset(test, admin.email);
    expect((await post(test, 'reset-password', { token, password })).status).toBe(200);
    expect(await waiting(admin)).toEqual([]);
  });
});

describe('an invitation that waits', () => {
  it('is cancelled when it is accepted with its link, and other invitations are not', async () => {
    const email = newEmail();
    const [home, host] = [await createTenant(test), await createTenant(test)];
    const { token } = await invite(test, home, { email });
    await invite(test, host, { email });
    expect((await post(test, 'accept-invitation', { token, password })).status).toBe(200);
    expect(await waiting({ email })).toHaveLength(1);
    const [mail] = await mailsTo(test, email);
    expect((await post(test, 'accept-invitation', { token: tokenIn(mail!.text) })).status).toBe(200);
    expect(await waiting({ email })).toEqual([]);
  });
});
