import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createClock, invite, mailsTo, post } from '#modules/auth/testing/steps';
import { startHttpProvider, type HttpProvider } from '#modules/connectors/messaging/adapters/testing/http-provider';
import { connectorAt } from '#modules/connectors/messaging/adapters/testing/provider';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { createConnector } from '#modules/connectors/testing/connectors';
import {
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  twoFactor,
  type Enrolled,
} from '#modules/two-factor/testing/steps';
import { untilBlocked } from '#test/support/database';
import {
  createMember,
  createTenant,
  joinTenant,
  logInSystemAdmin,
  proveAddress,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
// A database of its own, because connectors of the installation would serve all tenants. Mails wait in the outbox.
const test = useService({
  now: clock.now,
  ownDatabase: true,
  environment: { ...environment, OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32', SMTP_URL: 'smtp://127.0.0.1:9' },
});
let numbers = 1000;
/** Unique to this test, because each number has its own limit. */
let number: string;
const method = 'sms';
let home: Tenant;
let other: Tenant;

beforeEach(async () => {
  number = `+43660${(numbers += 1)}4567`;
  [home, other] = [await createTenant(test), await createTenant(test)];
});

type Connected = HttpProvider & { id: string; key: string };

/** A provider that accepts text messages through a connector of the owner of the token. */
async function connect({ token }: { token: string }): Promise<Connected> {
  const provider = await startHttpProvider(webhookFake);
  const config = { ...webhookFake.config, adapter: webhookFake.adapter, channels: [method] };
  const { id, api_key: key } = await createConnector(test, token, connectorAt(webhookFake, provider, { config }));
  return Object.assign(provider, { id, key });
}

/** A connector of the installation, until the test ends. */
async function connectInstallation(): Promise<Connected> {
  const { token } = await logInSystemAdmin(test);
  const provider = await connect({ token });
  onTestFinished(async () => {
    expect((await test.call('DELETE', `/api/v1/secure/ai/providers/${provider.id}`, { token })).status).toBe(204);
  });
  return provider;
}

const codeIn = (text: string) => /^Your code is (\d{6})\./.exec(text)![1]!;
const newestCode = (provider: HttpProvider) => codeIn(provider.taken.at(-1)!.text);
const send = (person: { token: string }) => twoFactor(test, 'send-code', person, { method });
const verify = (person: { token: string }, code: string, by: string = method) =>
  twoFactor(test, 'verify', person, { method: by, code });

async function enrolSms(person: { token: string }, provider: HttpProvider): Promise<void> {
  expect((await twoFactor(test, 'enable/sms', person, { delivery_target: number })).status).toBe(200);
  expect((await verify(person, newestCode(provider))).status).toBe(200);
}

/** A user of `home` and `other` whose second factor, text messages, was set up in `home`. */
async function createPersonOfBoth(provider: HttpProvider): Promise<Person> {
  const person = await createMember(test, home);
  await enrolSms(person, provider);
  await joinTenant(test, other, person);
  return person;
}

/** A session in the tenant whose second factor was a text message through the provider. */
async function assuredBy(provider: HttpProvider, person: Person, tenant: Tenant): Promise<Person> {
  const session = await logInAgain(test, person, tenant.tenantId);
  expect((await send(session)).status).toBe(200);
  expect((await verify(session, newestCode(provider))).status).toBe(200);
  expect((await ordinary(test, session)).status).toBe(200);
  return session;
}

const expectStepUp = async (session: { token: string }) =>
  expectError(await ordinary(test, session), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');

async function switchTo(session: { token: string }, tenant: Tenant): Promise<{ token: string; refreshToken: string }> {
  const body = { tenantId: tenant.tenantId };
  const answer = await test.call('POST', '/api/v1/auth/switch-tenant', { token: session.token, body });
  expect(answer).toMatchObject({ status: 200 });
  return { token: answer.body.accessToken, refreshToken: answer.body.refreshToken };
}

describe('a code of a factor that was set up in one tenant', () => {
  it('never uses a connector of another tenant of the user', async () => {
    const [own, foreign] = [await connect(home.admin), await connect(other.admin)];
    const person = await createPersonOfBoth(own);
    const session = await logInAgain(test, person, other.tenantId);
    const sent = own.taken.length;
    expectError(await send(session), 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
    expect(foreign.requests).toEqual([]);
    expect(own.taken).toHaveLength(sent);
  });

  it('uses a connector of the installation there, even if that tenant has its own credentials for it', async () => {
    const provider = await connectInstallation();
    const foreign = await connect(other.admin);
    const own = await connect(home.admin);
    const person = await createPersonOfBoth(own);
    await override(test, other.tenantId, {
      operation: 'messaging.sms',
      order: [provider.key],
      credentials: { [provider.key]: { ...webhookFake.credentials, token: 'of the tenant' } },
    });
    const session = await logInAgain(test, person, other.tenantId);
    expect((await send(session)).status).toBe(200);
    expect(provider.taken).toHaveLength(1);
    expect(foreign.requests).toEqual([]);
    expect((await verify(session, newestCode(provider))).status).toBe(200);
  });

  it('uses the connector of that tenant in a session of that tenant', async () => {
    const own = await connect(home.admin);
    const person = await createPersonOfBoth(own);
    await assuredBy(own, person, home);
    expect(own.taken).toHaveLength(2);
  });

  it('uses only the installation if the tenant of the enrolment is unknown', async () => {
    const own = await connect(home.admin);
    const person = await createPersonOfBoth(own);
    await test.service.services.database.credential().interactive.all({
      kind: 'write',
      text: 'update two_factor_methods set enrolled_in = null where account_id = (select id from accounts where email = $1)',
      values: [person.email],
      prepare: false,
    });
    const session = await logInAgain(test, person, home.tenantId);
    expectError(await send(session), 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
  });
});

describe('switchTenant after a code that a connector of the tenant delivered', () => {
  it('200: the new session requires step-up, also after a refresh', async () => {
    const own = await connect(home.admin);
    const session = await assuredBy(own, await createPersonOfBoth(own), home);
    const there = await switchTo(session, other);
    await expectStepUp(there);
    const refreshed = await post(test, 'refresh', { refreshToken: there.refreshToken });
    await expectStepUp({ token: refreshed.body.accessToken });
    expectError(await send(there), 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
  });

  it('200: the same if the tenant has its own credentials for a connector of the installation', async () => {
    const provider = await connectInstallation();
    await override(test, home.tenantId, {
      operation: 'messaging.sms',
      credentials: { [provider.key]: webhookFake.credentials },
    });
    const person = await createPersonOfBoth(provider);
    const there = await switchTo(await assuredBy(provider, person, home), other);
    await expectStepUp(there);
  });

  it('200: the same if the connector failed and the installation delivered the code', async () => {
    const provider = await connectInstallation();
    const own = await connect(home.admin);
    const person = await createPersonOfBoth(own);
    own.misbehave((response, request) => {
      response.writeHead(500).end();
      request.resume();
    });
    const there = await switchTo(await assuredBy(provider, person, home), other);
    await expectStepUp(there);
  });

  it('200: another session in the same tenant keeps it', async () => {
    const own = await connect(home.admin);
    const session = await assuredBy(own, await createPersonOfBoth(own), home);
    const again = await switchTo(session, home);
    expect((await ordinary(test, again)).status).toBe(200);
    await expectStepUp(await switchTo(again, other));
  });
});

describe('a statement without the account-wide columns', () => {
  const run = (text: string, values: unknown[]) =>
    test.service.services.database
      .credential(home.tenantId)
      .interactive.all<any>({ kind: 'write', text, values, prepare: false });

  it('performs a step-up that counts in its tenant only', async () => {
    const person = await createPersonOfBoth(await connect(home.admin));
    const session = await logInAgain(test, person, home.tenantId);
    await run('update sessions set assurance = 2 where tenant_id = $1 and user_id = $2 and ended_at is null', [
      home.tenantId,
      person.userId,
    ]);
    test.service.services.principals.forget(`user:${person.userId}`);
    expect((await ordinary(test, session)).status).toBe(200);
    await expectStepUp(await switchTo(session, other));
  });

  it('stores codes and sessions that count in its tenant only', async () => {
    const defaults = await run(
      `select table_name as name, column_default as value from information_schema.columns
        where (table_name, column_name) in (('sessions', 'assurance_account_wide'), ('two_factor_codes', $1)) order by 1`,
      ['account_wide'],
    );
    expect(defaults).toEqual([
      { name: 'sessions', value: 'false' },
      { name: 'two_factor_codes', value: 'false' },
    ]);
  });
});

describe('switchTenant after a factor of the account', () => {
  it('200: a code of an app counts in the new session, also after a code that did not', async () => {
    const own = await connect(home.admin);
    const person = await createMember(test, home);
    const { secret } = await enrolTotp(test, clock, person);
    await enrolSms(person, own);
    await joinTenant(test, other, person);
    const session = await assuredBy(own, person, home);
    await expectStepUp(await switchTo(session, other));
    expect((await verify(session, freshCode(secret, clock), 'totp')).status).toBe(200);
    const there = await switchTo(session, other);
    expect((await ordinary(test, there)).status).toBe(200);
    // A code that a tenant could read changes nothing.
    expect((await send(session)).status).toBe(200);
    expect((await verify(session, newestCode(own))).status).toBe(200);
    expect((await ordinary(test, await switchTo(session, other))).status).toBe(200);
  });

  it('200: so does a backup code', async () => {
    const person = await createMember(test, home);
    const { backupCodes } = await enrolTotp(test, clock, person);
    await joinTenant(test, other, person);
    const session = await logInAgain(test, person, home.tenantId);
    expect((await twoFactor(test, 'use-backup', session, { code: backupCodes[0] })).status).toBe(200);
    expect((await ordinary(test, await switchTo(session, other))).status).toBe(200);
  });

  it('200: so does a code that only the installation delivered', async () => {
    const provider = await connectInstallation();
    const person = await createPersonOfBoth(provider);
    const session = await assuredBy(provider, person, home);
    expect((await ordinary(test, await switchTo(session, other))).status).toBe(200);
  });
});

describe('a session whose code a connector of the tenant delivered', () => {
  async function createWithBoth(own: HttpProvider): Promise<Person & Enrolled> {
    const person = await createMember(test, home);
    const enrolled = await enrolTotp(test, clock, person);
    await enrolSms(person, own);
    await joinTenant(test, other, person);
    return { ...person, ...enrolled };
  }

  const changePassword = ({ token, password }: Person, newPassword: string, currentPassword = password) =>
    test.call('POST', '/api/v1/auth/change-password', { token, body: { currentPassword, newPassword } });

  it('403: cannot change factors of an account with other tenants', async () => {
    const own = await connect(home.admin);
    const person = await createWithBoth(own);
    const session = await assuredBy(own, person, home);
    for (const [operation, body] of [
      ['enable/email', { delivery_target: `admin@${home.domain}.example` }],
      ['backup-codes', undefined],
      ['disable', { method: 'totp', code: person.backupCodes[0] }],
      ['disable', { method, code: person.backupCodes[0] }],
    ] as const) {
      const answer = await twoFactor(test, operation, session, body);
      expectError(answer, 403, 'AUTHORIZATION_ERROR', 'ASSURANCE_LIMITED_TO_TENANT');
    }
    // The refusal did not consume the backup code.
    expect((await twoFactor(test, 'use-backup', session, { code: person.backupCodes[0] })).status).toBe(200);
    expect((await twoFactor(test, 'backup-codes', session)).status).toBe(200);
  });

  it('403: cannot enrol an app, which would give access to the other tenants', async () => {
    const own = await connect(home.admin);
    const session = await assuredBy(own, await createPersonOfBoth(own), home);
    const answer = await twoFactor(test, 'enable/totp', session);
    expectError(answer, 403, 'AUTHORIZATION_ERROR', 'ASSURANCE_LIMITED_TO_TENANT');
  });

  it('422: cannot complete the enrolment of an app that it began before the account joined another tenant', async () => {
    const own = await connect(home.admin);
    const person = await createMember(test, home);
    await enrolSms(person, own);
    const session = await assuredBy(own, person, home);
    const begun = await twoFactor(test, 'enable/totp', session);
    expect(begun.status).toBe(200);
    await joinTenant(test, other, session);
    const code = freshCode(begun.body.data.secret, clock);
    expectError(await verify(session, code, 'totp'), 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
    await expectStepUp(await switchTo(session, other));
  });

  it('200: enrols mail to the user’s address, and then counts in all tenants', async () => {
    const own = await connect(home.admin);
    const person = await createPersonOfBoth(own);
    const session = await assuredBy(own, person, home);
    expect((await twoFactor(test, 'enable/email', session)).status).toBe(200);
    const [mail] = await mailsTo(test, person.email);
    expect((await verify(session, codeIn(mail!.text), 'email')).status).toBe(200);
    expect((await ordinary(test, await switchTo(session, other))).status).toBe(200);
    expect((await twoFactor(test, 'enable/totp', session)).status).toBe(200);
  });

  it('403: cannot change the password or answer invitations for the other tenants', async () => {
    const own = await connect(home.admin);
    const person = await createWithBoth(own);
    const session = await assuredBy(own, person, home);
    const third = await createTenant(test);
    const { userId } = await invite(test, third, { email: person.email });
    for (const answer of [
      () => changePassword(session, 'another horse'),
      () => test.call('POST', `/api/v1/auth/invitations/${userId}/accept`, { token: session.token }),
      () => test.call('POST', `/api/v1/auth/invitations/${userId}/decline`, { token: session.token }),
    ])
      expectError(await answer(), 403, 'AUTHORIZATION_ERROR', 'ASSURANCE_LIMITED_TO_TENANT');
    expect((await verify(session, freshCode(person.secret, clock), 'totp')).status).toBe(200);
    const accepted = await test.call('POST', `/api/v1/auth/invitations/${userId}/accept`, { token: session.token });
    expect(accepted.status).toBe(200);
    expect((await changePassword(session, 'another horse')).status).toBe(200);
  });

  it('403: cannot change the password if the account joins another tenant at the same time', async () => {
    const own = await connect(home.admin);
    const person = await createMember(test, home);
    await enrolSms(person, own);
    const session = await assuredBy(own, person, home);
    const changing = await test.service.services.database.credential().transaction(async (tx) => {
      const account = await tx.first<{ id: string }>({
        kind: 'lock',
        text: 'select id from accounts where email = $1 for no key update',
        values: [person.email],
        prepare: false,
      });
      const blocked = changePassword(session, 'another horse');
      await untilBlocked(tx);
      await tx.all({
        kind: 'write',
        text: 'insert into memberships (account_id, tenant_id, user_id) values ($1, $2, $3)',
        values: [account!.id, other.tenantId, newId()],
        prepare: false,
      });
      return { blocked };
    });
    expectError(await changing.blocked, 403, 'AUTHORIZATION_ERROR', 'ASSURANCE_LIMITED_TO_TENANT');
    expect((await post(test, 'login', { email: person.email, password: person.password })).status).toBe(200);
  });

  it('200: changes the password and accepts an invitation if the account has no other tenant', async () => {
    const own = await connect(home.admin);
    const person = await createMember(test, home);
    await enrolSms(person, own);
    const session = await assuredBy(own, person, home);
    expect((await changePassword(session, 'another horse')).status).toBe(200);
    await joinTenant(test, other, session);
    expectError(await changePassword(session, 'third horse', 'another horse'), 403, 'AUTHORIZATION_ERROR');
  });

  it('200: changes the factors if the account has no other tenant', async () => {
    const own = await connect(home.admin);
    const person = await createMember(test, home);
    await enrolSms(person, own);
    const session = await assuredBy(own, person, home);
    await proveAddress(test, person.email);
    expect((await twoFactor(test, 'enable/totp', session)).status).toBe(200);
  });
});
