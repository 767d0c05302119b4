import { beforeAll, describe, expect, it } from 'vitest';

import {
  auditOf,
  createClock,
  createPersonOfTwo,
  expectNoSecrets,
  minute,
  statusOf,
} from '#modules/auth/testing/steps';
import {
  appCode,
  enrolTotp,
  environment,
  freshCode,
  logInAgain,
  ordinary,
  statusOfFactors,
  twoFactor,
  wrongCode,
} from '#modules/two-factor/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const enable = (person: { token: string }, body?: unknown) => twoFactor(test, 'enable/totp', person, body);
const verify = (person: { token: string }, code: string) => twoFactor(test, 'verify', person, { method: 'totp', code });

describe('enableTwoFactor, totp', () => {
  it('200: returns the data for an app and ten backup codes, which are not valid yet', async () => {
    const person = await createMember(test, tenant);
    const answer = await enable(person);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        success: true,
        message: expect.any(String),
        data: {
          method: 'totp',
          secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
          qr_code_uri: expect.stringMatching(/^otpauth:\/\/totp\/Atrium:/),
          qr_code_data_url: expect.stringMatching(/^data:image\/png;base64,/),
          backup_codes: expect.toSatisfy((codes: string[]) => new Set(codes).size === 10),
        },
      },
    });
    const { secret, qr_code_uri: uri, backup_codes: backupCodes } = answer.body.data;
    expect(uri).toContain(`secret=${secret}`);
    expect(uri).toContain(encodeURIComponent(person.email));
    for (const code of backupCodes) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(await statusOfFactors(test, person)).toEqual({
      enabled_methods: [],
      backup_codes_remaining: 0,
      requires_2fa: false,
    });
    expectError(await twoFactor(test, 'use-backup', person, { code: backupCodes[0] }), 422, 'UNPROCESSABLE_ENTITY');
    expect((await ordinary(test, await logInAgain(test, person))).status).toBe(200);
  });

  it('200: without a body, with an empty one, and with an unused target', async () => {
    const person = await createMember(test, tenant);
    expect((await enable(person)).status).toBe(200);
    const url = '/api/v1/secure/auth/2fa/enable/totp';
    const json = { 'content-type': 'application/json' };
    expect((await test.call('POST', url, { token: person.token, headers: json })).status).toBe(200);
    expect((await enable(person, {})).status).toBe(200);
    expect((await enable(person, { delivery_target: '+43660123456' })).status).toBe(200);
  });

  it('200: replaces an earlier enrolment', async () => {
    const person = await createMember(test, tenant);
    const [first, second] = [await enable(person), await enable(person)];
    expectError(await verify(person, appCode(first.body.data.secret, clock.now())), 401, 'AUTHENTICATION_ERROR');
    expect((await verify(person, appCode(second.body.data.secret, clock.now()))).status).toBe(200);
  });

  it('shows the seed and the codes neither in a dump nor in a log', async () => {
    const person = await createMember(test, tenant);
    const { secret, backupCodes } = await enrolTotp(test, clock, person);
    const rows = await test.service.services.database.credential().batch([
      { kind: 'read', text: 'select * from two_factor_methods', values: [], prepare: false },
      { kind: 'read', text: 'select * from two_factor_backup_codes', values: [], prepare: false },
    ]);
    const dump = JSON.stringify(rows);
    for (const text of [secret, ...backupCodes]) expect(dump).not.toContain(text);
    const trail = await auditOf(test, tenant.admin, 'two_factor.enabled');
    for (const text of [secret, ...backupCodes]) expect(JSON.stringify(trail)).not.toContain(text);
    expectNoSecrets(test, [secret, ...backupCodes]);
  });

  it('400: an unknown method, an unknown property', async () => {
    const person = await createMember(test, tenant);
    expectError(await twoFactor(test, 'enable/fax', person), 400, 'VALIDATION_ERROR');
    expectError(await enable(person, { target: 'x' }), 400, 'VALIDATION_ERROR');
    expectError(await enable(person, { delivery_target: '' }), 400, 'VALIDATION_ERROR');
    expectError(await enable(person, { delivery_target: 'x'.repeat(255) }), 400, 'VALIDATION_ERROR');
    expect((await enable(person, { delivery_target: 'x'.repeat(254) })).status).toBe(200);
  });

  it('409: already enabled', async () => {
    const person = await createMember(test, tenant);
    await enrolTotp(test, clock, person);
    expectError(await enable(person), 409, 'CONFLICT', 'TWO_FACTOR_ENABLED');
  });
});

describe('verifyTwoFactor, completing an enrolment', () => {
  it('200: enables the method and the backup codes, performs the step-up, revokes the other sessions', async () => {
    const person = await createMember(test, tenant);
    const other = await logInAgain(test, person);
    expect((await ordinary(test, other)).status).toBe(200);
    const { secret, backup_codes: backupCodes } = (await enable(person)).body.data;
    const at = clock.now().getTime();
    const answer = await verify(person, appCode(secret, clock.now()));
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { success: true, message: expect.any(String), data: { method: 'totp', verified: true, enabled: true } },
    });
    const status = await statusOfFactors(test, person);
    expect(status).toEqual({
      enabled_methods: [
        { method: 'totp', enabled_at: expect.any(String), last_used_at: null, delivery_target_masked: null },
      ],
      backup_codes_remaining: 10,
      requires_2fa: false,
    });
    expect(Date.parse(status.enabled_methods[0]!.enabled_at)).toBeGreaterThanOrEqual(at);
    expect((await ordinary(test, person)).status).toBe(200);
    expect(await statusOf(test, other.token)).toBe(401);
    expect((await twoFactor(test, 'use-backup', person, { code: backupCodes[3] })).status).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.enabled');
    expect(entry).toMatchObject({ user_id: person.userId, details: { method: 'totp' } });
  });

  it('200: applies to every tenant of the account: revokes the other sessions and is recorded there', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const here = await logIn(test, { email, password, tenantId: first.tenantId });
    const there = await logIn(test, { email, password, tenantId: second.tenantId });
    expect((await ordinary(test, there)).status).toBe(200);
    await enrolTotp(test, clock, here);
    expect(await statusOf(test, there.token)).toBe(401);
    const again = await logIn(test, { email, password, tenantId: second.tenantId });
    expectError(await ordinary(test, again), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    for (const each of [first, second]) expect(await auditOf(test, each.admin, 'two_factor.enabled')).toHaveLength(1);
  });

  it('200: accepts the code in two groups', async () => {
    const person = await createMember(test, tenant);
    const { secret } = (await enable(person)).body.data;
    const code = appCode(secret, clock.now());
    expect((await verify(person, `${code.slice(0, 3)} ${code.slice(3)}`)).status).toBe(200);
  });

  it('200: until the enrolment is ten minutes old; then 422', async () => {
    const person = await createMember(test, tenant);
    const { secret } = (await enable(person)).body.data;
    clock.advance(10 * minute + 1);
    const late = await verify(person, appCode(secret, clock.now()));
    expectError(late, 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
    const again = (await enable(await logInAgain(test, person))).body.data;
    clock.advance(10 * minute - 5000);
    expect((await verify(person, appCode(again.secret, clock.now()))).status).toBe(200);
  });

  it('400: a code of another length', async () => {
    for (const code of ['', '12345', '123456789']) {
      expectError(await verify(tenant.admin, code), 400, 'VALIDATION_ERROR');
    }
    for (const body of [{ method: 'totp' }, { code: '123456' }, { method: 'fax', code: '123456' }, {}])
      expectError(await twoFactor(test, 'verify', tenant.admin, body), 400, 'VALIDATION_ERROR');
  });

  it('401: a wrong code leaves the enrolment as it is', async () => {
    const person = await createMember(test, tenant);
    const { secret } = (await enable(person)).body.data;
    for (const code of [wrongCode(secret, clock), '1234567', '12345678', 'abcdef', '２８７０８２'])
      expectError(await verify(person, code), 401, 'AUTHENTICATION_ERROR');
    clock.advance(5 * minute);
    expect((await verify(person, appCode(secret, clock.now()))).status).toBe(200);
  });

  it('422: nothing enabled and nothing pending', async () => {
    const answer = await verify(await createMember(test, tenant), '123456');
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
  });
});

describe('verifyTwoFactor, an enabled method', () => {
  let person: Person;
  let secret: string;

  beforeAll(async () => {
    person = await createMember(test, tenant);
    secret = (await enrolTotp(test, clock, person)).secret;
  });

  it('200: is recorded with the session and its time', async () => {
    const session = await logInAgain(test, person);
    const before = clock.now().getTime();
    expect((await verify(session, freshCode(secret, clock))).body.data).toEqual({
      method: 'totp',
      verified: true,
      enabled: true,
    });
    const [method] = (await statusOfFactors(test, session)).enabled_methods;
    expect(Date.parse(method!.last_used_at!)).toBeGreaterThanOrEqual(before);
    const [entry] = await auditOf(test, tenant.admin, 'two_factor.verified');
    expect(entry).toMatchObject({ user_id: person.userId, details: { method: 'totp' } });
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: session.token });
    const own = sessions.body.data.find(({ current }: { current: boolean }) => current);
    expect(entry!.resource_id).toBe(own.id);
  });

  it('200: again in a session after its step-up', async () => {
    const session = await logInAgain(test, person);
    for (let count = 0; count < 2; count++) expect((await verify(session, freshCode(secret, clock))).status).toBe(200);
  });

  it('401: an accepted code, from any session, and every earlier code', async () => {
    const [one, other] = [await logInAgain(test, person), await logInAgain(test, person)];
    clock.advance(2 * minute);
    const older = appCode(secret, clock.now(), -1);
    const code = appCode(secret, clock.now());
    expect((await verify(one, code)).status).toBe(200);
    for (const session of [one, other]) {
      expectError(await verify(session, code), 401, 'AUTHENTICATION_ERROR');
      expectError(await verify(session, older), 401, 'AUTHENTICATION_ERROR');
    }
    expectError(await ordinary(test, other), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    clock.advance(5 * minute);
    expect((await verify(other, appCode(secret, clock.now(), 1))).status).toBe(200);
    expectError(await verify(other, appCode(secret, clock.now())), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: the code that completed the enrolment', async () => {
    const fresh = await createMember(test, tenant);
    const { secret: seed } = (await enable(fresh)).body.data;
    const code = appCode(seed, clock.now());
    expect((await verify(fresh, code)).status).toBe(200);
    expectError(await verify(await logInAgain(test, fresh), code), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: is recorded as a failure, without the code', async () => {
    const fresh = await createMember(test, tenant);
    const { secret: seed } = await enrolTotp(test, clock, fresh);
    const code = wrongCode(seed, clock);
    const answer = await verify(await logInAgain(test, fresh), code);
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
    const trail = await auditOf(test, tenant.admin, 'two_factor.failed');
    const [entry, ...others] = trail.filter(({ user_id: userId }) => userId === fresh.userId);
    expect(others).toEqual([]);
    expect(entry!.details).toEqual({
      method: 'totp',
      actor: { type: 'user', id: fresh.userId },
      requestId: answer.headers['x-request-id'],
    });
    await expect
      .poll(() => eventsOf(answer.headers['x-request-id']!), { interval: 20, timeout: 20_000 })
      .toEqual([
        expect.objectContaining({
          event_type: 'login_failed',
          concerned_tenant_id: tenant.tenantId,
          user_id: fresh.userId,
        }),
      ]);
  });
});

function eventsOf(requestId: string) {
  return test.service.services.database.platform().all({
    kind: 'read',
    text: `select * from security_events where details ->> 'requestId' = $1`,
    values: [requestId],
    prepare: false,
  });
}
