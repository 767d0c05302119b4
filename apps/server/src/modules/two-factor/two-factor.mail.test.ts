import { simpleParser, type ParsedMail } from 'mailparser';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  day,
  expectNoSecrets,
  inParallel,
  mailsTo as outboxTo,
  minute,
} from '#modules/auth/testing/steps';
import {
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  statusOfFactors,
  twoFactor,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, proveAddress, unique, type Person, type Tenant } from '#test/support/factories';
import {
  expectError,
  startService,
  testServiceOf,
  patientTiming,
  useService,
  type Answer,
  type TestService,
} from '#test/support/harness';

const clock = createClock();
// A database of its own, because the relay would deliver mails of other suites.
const silent = useService({ now: clock.now, environment, ownDatabase: true });

const received: { mail: ParsedMail; recipients: string[] }[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, session, done) => {
    void text(stream).then(async (source) => {
      const recipients = session.envelope.rcptTo.map((recipient) => recipient.address);
      received.push({ mail: await simpleParser(source), recipients });
      return done();
    });
  },
});
const logLines: string[] = [];
let service: Service;
let test: TestService;
let tenant: Tenant;

beforeAll(async () => {
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as { port: number };
  const smtpUrl = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Atrium <no-reply@atrium.example>' };
  const { connection } = silent;
  service = await startService(
    { now: clock.now, environment: { ...environment, ...smtpUrl }, connection, databaseTiming: patientTiming },
    logLines,
  );
  test = { ...testServiceOf(service, connection), logLines };
  tenant = await createTenant(test);
});
afterAll(async () => {
  await service.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
});

const mailsTo = (address: string) => received.filter((one) => one.recipients.includes(address));

/** The code in the newest of the given number of mails to the address. */
async function codeFrom(address: string, mails: number): Promise<string> {
  await expect.poll(() => mailsTo(address).length, { interval: 10, timeout: 20_000 }).toBe(mails);
  return /Your code is (\d{6})\./.exec(mailsTo(address).at(-1)!.mail.text!)![1]!;
}

const enable = (person: { token: string }, target?: string) =>
  twoFactor(test, 'enable/email', person, target === undefined ? undefined : { delivery_target: target });
const send = (person: { token: string }) => twoFactor(test, 'send-code', person, { method: 'email' });
const verify = (person: { token: string }, code: string) =>
  twoFactor(test, 'verify', person, { method: 'email', code });
const otherThan = (code: string) => (code === '000000' ? '111111' : '000000');

/** A user with the second factor `email` at the user's own address. */
async function createEnrolled(): Promise<Person> {
  const person = await createMember(test, tenant);
  expect((await enable(person)).status).toBe(200);
  expect((await verify(person, await codeFrom(person.email, 1))).status).toBe(200);
  return person;
}

function expectTooMany(answer: Answer, max: number, reason: string): void {
  expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', reason);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(max);
}

describe('enableTwoFactor, email', () => {
  it('200: sends a code to the user’s address, and that code completes the enrolment', async () => {
    const person = await createMember(test, tenant);
    const answer = await enable(person);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        success: true,
        message: expect.any(String),
        data: {
          method: 'email',
          delivery_target: 'm***@t***.example',
          verification_sent: true,
          expires_in_seconds: 300,
        },
      },
    });
    const code = await codeFrom(person.email, 1);
    expect(mailsTo(person.email)[0]!.mail.subject).toBe('Your code');
    expect((await statusOfFactors(test, person)).enabled_methods).toEqual([]);
    const verified = await verify(person, code);
    expect(verified.body.data).toEqual({ method: 'email', verified: true, enabled: true });
    expect(await statusOfFactors(test, person)).toEqual({
      enabled_methods: [
        {
          method: 'email',
          enabled_at: expect.any(String),
          last_used_at: null,
          delivery_target_masked: 'm***@t***.example',
        },
      ],
      backup_codes_remaining: 0,
      requires_2fa: false,
    });
    expectNoSecrets(test, [code, person.email]);
    const trail = JSON.stringify(await auditOf(test, tenant.admin, 'two_factor.enabled'));
    for (const secret of [code, person.email]) expect(trail).not.toContain(secret);
  });

  it('200: to another address, which is stored encrypted', async () => {
    const person = await createMember(test, tenant);
    const target = `elsewhere-${person.userId}@example.org`;
    expect((await enable(person, target)).body.data.delivery_target).toBe('e***@e***.org');
    expect((await verify(person, await codeFrom(target, 1))).status).toBe(200);
    expect(mailsTo(person.email)).toEqual([]);
    const rows = await service.services.database.credential().batch([
      { kind: 'read', text: 'select * from two_factor_methods', values: [], prepare: false },
      { kind: 'read', text: 'select * from two_factor_codes', values: [], prepare: false },
    ]);
    expect(JSON.stringify(rows)).not.toContain('elsewhere');
  });

  it('200: an address that another person has verified gets the same answer, and does not count before its code', async () => {
    const owner = await createMember(test, tenant);
    await proveAddress(test, owner.email);
    const answers = [];
    for (const target of [owner.email, `${unique('member')}@${tenant.domain}.example`]) {
      const person = await createMember(test, tenant);
      answers.push(await enable(person, target));
      await codeFrom(target, 1);
      const { text: mail, subject } = mailsTo(target)[0]!.mail;
      for (const written of [tenant.name, tenant.domain, person.email])
        expect(`${subject} ${mail}`).not.toContain(written);
      expectError(await verify(person, '12345678'), 401, 'AUTHENTICATION_ERROR');
      expect((await statusOfFactors(test, person)).enabled_methods).toEqual([]);
      expect((await ordinary(test, await logInAgain(test, person))).status).toBe(200);
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('429: more than three codes in ten minutes to one address, from 50 accounts at once', async () => {
    const target = `${unique('target')}@example.org`;
    const people: Person[] = [];
    for (let count = 0; count < 50; count++) people.push(await createMember(test, tenant));
    const answers = await inParallel(50, (at) => enable(people[at]!, at % 2 === 0 ? target : target.toUpperCase()));
    expect(countStatuses(answers)).toEqual({ 200: 3, 429: 47 });
    const refused = answers.filter(({ status }) => status === 429);
    for (const answer of refused) expectTooMany(answer, 600, 'TOO_MANY_CODES');
    const begun = people[answers.findIndex(({ status }) => status === 200)]!;
    expectTooMany(await send(begun), 600, 'TOO_MANY_CODES');
  }, 60_000);

  it('200: other accounts cannot use up the limit of a verified address or of an enabled factor', async () => {
    const owner = await createMember(test, tenant);
    await proveAddress(test, owner.email);
    for (let count = 0; count < 3; count++)
      expect((await enable(await createMember(test, tenant), owner.email)).status).toBe(200);
    const fourth = await createMember(test, tenant);
    expectTooMany(await enable(fourth, owner.email), 600, 'TOO_MANY_CODES');
    expect((await enable(owner)).status).toBe(200);
    expect((await verify(owner, await codeFrom(owner.email, 4))).status).toBe(200);
    expect((await send(await logInAgain(test, owner))).status).toBe(200);
  });

  it('400: an invalid address', async () => {
    const person = await createMember(test, tenant);
    for (const target of ['ada', '+43660123456', 'a@b', 'ada@example.com\r\nBcc: eve@example.com', 'a b@example.com'])
      expectError(await enable(person, target), 400, 'VALIDATION_ERROR');
    expect(mailsTo(person.email)).toEqual([]);
  });

  it('401: a code for an earlier address does not verify a later one', async () => {
    const person = await createMember(test, tenant);
    const other = await logInAgain(test, person);
    expect((await enable(person)).status).toBe(200);
    const code = await codeFrom(person.email, 1);
    expect((await enable(other, `else-${person.email}`)).status).toBe(200);
    expectError(await verify(person, code), 401, 'AUTHENTICATION_ERROR');
    expectError(await verify(other, code), 401, 'AUTHENTICATION_ERROR');
    expect((await verify(other, await codeFrom(`else-${person.email}`, 1))).status).toBe(200);
  });

  it('409: already enabled; sends nothing', async () => {
    const person = await createEnrolled();
    expectError(await enable(person), 409, 'CONFLICT', 'TWO_FACTOR_ENABLED');
    expect(mailsTo(person.email)).toHaveLength(1);
  });

  it('422: without a mail server', async () => {
    const person = await createMember(silent, await createTenant(silent));
    const unsent = await twoFactor(silent, 'enable/email', person);
    expectError(unsent, 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
    const enrolled = await createEnrolled();
    const refused = await twoFactor(silent, 'send-code', enrolled, { method: 'email' });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
    expect((await statusOfFactors(silent, person)).enabled_methods).toEqual([]);
  });

  it('keeps the backup codes of an app, and a new app replaces them', async () => {
    const person = await createEnrolled();
    expect((await statusOfFactors(test, person)).backup_codes_remaining).toBe(0);
    const first = (await twoFactor(test, 'backup-codes', person)).body.data.backup_codes;
    const pending = (await twoFactor(test, 'enable/totp', person)).body.data;
    expectError(
      await twoFactor(test, 'use-backup', person, { code: pending.backup_codes[0] }),
      401,
      'AUTHENTICATION_ERROR',
    );
    expect((await twoFactor(test, 'use-backup', person, { code: first[0] })).status).toBe(200);
    const { backupCodes } = await enrolTotp(test, clock, person);
    expectError(await twoFactor(test, 'use-backup', person, { code: first[1] }), 401, 'AUTHENTICATION_ERROR');
    expect((await twoFactor(test, 'use-backup', person, { code: backupCodes[0] })).status).toBe(200);
  });
});

describe('sendTwoFactorCode', () => {
  it('200: sends a code for the step-up of the session that requested it', async () => {
    const session = await logInAgain(test, await createEnrolled());
    const answer = await send(session);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { success: true, message: expect.any(String), data: { sent: true, expires_in_seconds: 300 } },
    });
    const code = await codeFrom(session.email, 2);
    expect((await verify(session, code)).status).toBe(200);
    expect((await ordinary(test, session)).status).toBe(200);
    expectError(await verify(session, code), 401, 'AUTHENTICATION_ERROR');
  });

  it('200: sends another code for a pending enrolment', async () => {
    const person = await createMember(test, tenant);
    expect((await enable(person)).status).toBe(200);
    const first = await codeFrom(person.email, 1);
    expect((await send(person)).status).toBe(200);
    const second = await codeFrom(person.email, 2);
    if (first !== second) expectError(await verify(person, first), 401, 'AUTHENTICATION_ERROR');
    expect((await verify(person, second)).status).toBe(200);
  });

  it('200: invalidates the earlier code of the same session, but not of other sessions', async () => {
    const person = await createEnrolled();
    const [one, other] = [await logInAgain(test, person), await logInAgain(test, person)];
    expect((await send(one)).status).toBe(200);
    const ofOne = await codeFrom(person.email, 2);
    expect((await send(other)).status).toBe(200);
    const ofOther = await codeFrom(person.email, 3);
    if (ofOne !== ofOther) expectError(await verify(other, ofOne), 401, 'AUTHENTICATION_ERROR');
    expect((await verify(one, ofOne)).status).toBe(200);
    expect((await verify(other, ofOther)).status).toBe(200);
  });

  it('200: disables the method', async () => {
    const person = await createEnrolled();
    expect((await send(person)).status).toBe(200);
    const code = await codeFrom(person.email, 2);
    const disable = (given: string) => twoFactor(test, 'DELETE disable', person, { method: 'email', code: given });
    expectError(await disable(otherThan(code)), 401, 'AUTHENTICATION_ERROR');
    expect((await disable(code)).status).toBe(204);
    expect((await statusOfFactors(test, person)).enabled_methods).toEqual([]);
  });

  it('a code of one method is not valid for another', async () => {
    const person = await createEnrolled();
    const { secret } = await enrolTotp(test, clock, person);
    const session = await logInAgain(test, person);
    expect((await send(session)).status).toBe(200);
    await codeFrom(person.email, 2);
    expectError(await verify(session, freshCode(secret, clock)), 401, 'AUTHENTICATION_ERROR');
    const { enabled_methods: methods } = await statusOfFactors(test, session);
    expect(methods.map(({ method }) => method)).toEqual(['email', 'totp']);
  });

  it('401: after five minutes', async () => {
    const person = await createEnrolled();
    const [one, other] = [await logInAgain(test, person), await logInAgain(test, person)];
    expect((await send(one)).status).toBe(200);
    const code = await codeFrom(person.email, 2);
    clock.advance(5 * minute);
    expectError(await verify(one, code), 401, 'AUTHENTICATION_ERROR');
    expect((await send(other)).status).toBe(200);
    const next = await codeFrom(person.email, 3);
    clock.advance(5 * minute - 5000);
    expect((await verify(other, next)).status).toBe(200);
  });

  it('422: not enabled; 400: a method without delivery', async () => {
    const person = await createMember(test, tenant);
    expectError(await send(person), 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
    for (const method of ['totp', 'fax', ''])
      expectError(await twoFactor(test, 'send-code', person, { method }), 400, 'VALIDATION_ERROR');
  });

  it('429: the fourth within ten minutes, the eleventh within a day, enrolments included', async () => {
    const fresh = await createTenant(test);
    let person = await createMember(test, fresh);
    const begins = clock.now().getTime();
    expect((await enable(person)).status).toBe(200);
    for (let sent = 2; sent <= 10; sent++) {
      const answer = await send(person);
      expect({ sent, status: answer.status }).toEqual({ sent, status: 200 });
      if (sent === 3 || sent === 6 || sent === 9) {
        expectTooMany(await send(person), 600, 'TOO_MANY_CODES');
        expectTooMany(await enable(person), 600, 'TOO_MANY_CODES');
        clock.advance(10 * minute);
        person = await logInAgain(test, person);
        // The enrolment has expired by now, so the next one starts again below.
        expect((await enable(person)).status).toBe(200);
        sent += 1;
      }
    }
    const passed = (clock.now().getTime() - begins) / 1000;
    clock.advance(10 * minute);
    person = await logInAgain(test, person);
    expectTooMany(await enable(person), 86_400 - Math.floor(passed), 'TOO_MANY_CODES');
    expect(await outboxTo(test, person.email)).toHaveLength(10);
    clock.advance(day);
    expect((await enable(await logInAgain(test, person))).status).toBe(200);
    tenant = await createTenant(test);
  });

  it('429: twenty concurrent requests send only three codes', async () => {
    const person = await createMember(test, tenant);
    expect(countStatuses(await inParallel(20, () => enable(person)))).toEqual({ 200: 3, 429: 17 });
    expect(await outboxTo(test, person.email)).toHaveLength(3);
  });
});

describe('guesses at a delivered code', () => {
  it('429: the sixth; another code has a new limit of five', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    expect((await send(session)).status).toBe(200);
    const code = await codeFrom(person.email, 2);
    for (let count = 0; count < 5; count++)
      expectError(await verify(session, otherThan(code)), 401, 'AUTHENTICATION_ERROR');
    expectTooMany(await verify(session, code), 300, 'TOO_MANY_GUESSES');
    expect((await send(session)).status).toBe(200);
    expect((await verify(session, await codeFrom(person.email, 3))).status).toBe(200);
  });

  it('fifty concurrent uses accept a code exactly once, in twenty rounds', async () => {
    for (let round = 0; round < 20; round++) {
      const person = await createEnrolled();
      const session = await logInAgain(test, person);
      expect((await send(session)).status).toBe(200);
      const code = await codeFrom(person.email, 2);
      const answers = await inParallel(50, () => verify(session, code));
      const { 200: won, 401: late = 0, 429: refused = 0 } = countStatuses(answers);
      expect({ won, all: won! + late + refused }).toEqual({ won: 1, all: 50 });
      expect(late).toBeLessThanOrEqual(5);
    }
  }, 180_000);

  it('429: the sixth, also without a sent code', async () => {
    const session = await logInAgain(test, await createEnrolled());
    for (let count = 0; count < 5; count++) expectError(await verify(session, '000000'), 401, 'AUTHENTICATION_ERROR');
    expectTooMany(await verify(session, '000000'), 300, 'TOO_MANY_GUESSES');
  });

  it('a hundred concurrent wrong codes are compared five times', async () => {
    const person = await createEnrolled();
    const session = await logInAgain(test, person);
    expect((await send(session)).status).toBe(200);
    const code = await codeFrom(person.email, 2);
    const answers = await inParallel(100, () => verify(session, otherThan(code)));
    expect(countStatuses(answers)[401]).toBeLessThanOrEqual(5);
    expect(countStatuses(answers)[200]).toBeUndefined();
  });
});
