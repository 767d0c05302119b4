import { beforeAll, describe, expect, it } from 'vitest';

import { createClock, mailsTo } from '#modules/auth/testing/steps';
import { environment, logInAgain, twoFactor } from '#modules/two-factor/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const clock = createClock();
// No mail server answers, so that mails wait.
const test = useService({
  now: clock.now,
  ownDatabase: true,
  environment: { ...environment, SMTP_URL: 'smtp://127.0.0.1:9' },
});
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const codeIn = (text: string) => /^Your code is (\d{6})\./.exec(text)![1]!;
const codesTo = async (email: string) => (await mailsTo(test, email)).filter(({ subject }) => subject === 'Your code');
const waiting = async (email: string) => (await codesTo(email)).filter((mail) => mail.given_up_at === null);
const method = 'email';
const send = (person: { token: string }) => twoFactor(test, 'send-code', person, { method });

describe('a mail with a code that waits', () => {
  it('expires with its code, and is cancelled when a newer code is sent to the session or the code is used', async () => {
    const person = await createMember(test, tenant);
    expect((await twoFactor(test, 'enable/email', person)).status).toBe(200);
    const [first] = await waiting(person.email);
    expect(Date.parse(first!.expires_at!) - Date.parse(first!.created_at)).toBe(300_000);
    expect((await send(person)).status).toBe(200);
    const [newest, ...older] = await waiting(person.email);
    expect(older).toEqual([]);
    expect(newest!.id).not.toBe(first!.id);
    expect((await twoFactor(test, 'verify', person, { method, code: codeIn(newest!.text) })).status).toBe(200);
    expect(await waiting(person.email)).toEqual([]);
    expect(await codesTo(person.email)).toMatchObject([
      { text: '', last_error: 'cancelled' },
      { text: '', last_error: 'cancelled' },
    ]);
  });

  it('is cancelled for all sessions when the factor is disabled', async () => {
    const person = await createMember(test, tenant);
    expect((await twoFactor(test, 'enable/email', person)).status).toBe(200);
    const [first] = await waiting(person.email);
    expect((await twoFactor(test, 'verify', person, { method, code: codeIn(first!.text) })).status).toBe(200);
    const other = await logInAgain(test, person);
    expect((await send(other)).status).toBe(200);
    expect((await send(person)).status).toBe(200);
    const mails = await waiting(person.email);
    expect(mails).toHaveLength(2);
    const disabled = await twoFactor(test, 'disable', person, { method, code: codeIn(mails[0]!.text) });
    expect(disabled.status).toBe(204);
    expect(await waiting(person.email)).toEqual([]);
  });
});
