import { describe, expect, it } from 'vitest';

import { TooManyRegistrations } from '#modules/auth/auth.errors';
import { registrationAttempt } from '#modules/auth/login/rate-limits';
import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  expectNoSecrets,
  inParallel,
  minute,
  newEmail,
  post,
  statusOf,
} from '#modules/auth/testing/steps';
import { logIn, unique } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });

function newTenant(overrides: Record<string, unknown> = {}): Record<string, any> {
  return {
    email: newEmail(),
    password: 'correct horse',
    tenantName: 'Acme',
    tenantDomain: unique('domain'),
    ...overrides,
  };
}

const register = (body: unknown, ip = '127.0.0.1') => post(test, 'register', body, { ip });

/** On a busy machine the password queue may refuse some requests before they compete. */
function expectOneOf(answers: readonly Answer[]): void {
  const { 201: created, 409: refused = 0, 503: busy = 0 } = countStatuses(answers);
  expect({ created, others: refused + busy }).toEqual({ created: 1, others: answers.length - 1 });
}

describe('register', () => {
  it('201: the tenant and its first user, exactly', async () => {
    const body = newTenant({ displayName: 'Ada', locale: 'de', email: `Ada.${unique('x')}@Person.Example` });
    const answer = await register(body);
    expect(answer.status).toBe(201);
    const { user, tenant } = answer.body;
    expect(answer.body).toEqual({
      user: { id: expect.any(String), email: body.email.toLowerCase(), tenantId: tenant.id },
      tenant: { id: expect.any(String), name: 'Acme', domain: body.tenantDomain },
      message: expect.any(String),
    });
    const { token } = await logIn(test, { email: body.email, password: body.password });
    const me = await test.call('GET', '/api/v1/auth/me', { token });
    expect(me.body.data).toEqual({
      id: user.id,
      email: user.email,
      tenantId: tenant.id,
      groups: [],
      displayName: 'Ada',
      locale: 'de',
    });
    const trail = await auditOf(test, { token }, 'tenant.created');
    expect(trail).toMatchObject([{ user_id: user.id, resource_id: tenant.id }]);
  });

  it('201: without locale and name, uses en and the address', async () => {
    const body = newTenant();
    await register(body);
    const { token } = await logIn(test, { email: body.email, password: body.password });
    const me = await test.call('GET', '/api/v1/auth/me', { token });
    expect(me.body.data).toMatchObject({ locale: 'en', displayName: body.email.split('@')[0] });
  });

  it.each([
    ['a password of 8 characters', { password: '12345678' }],
    ['a password of 8 characters beyond the BMP', { password: '😀'.repeat(8) }],
    ['a password of 16 code points that compose to 8', { password: 'e\u0301'.repeat(8) }],
    ['a password of 256 characters', { password: 'ü'.repeat(256) }],
    ['a tenant name of 2 characters', { tenantName: 'ab' }],
    ['a tenant name of 255 characters', { tenantName: '😀'.repeat(255) }],
    ['a display name of 255 characters', { displayName: 'x'.repeat(255) }],
    ['an empty display name', { displayName: '' }],
    ['a domain of 63 characters', { tenantDomain: unique('d').padEnd(63, 'x') }],
    ['every sign that a domain may have', { tenantDomain: `-0-${unique('z')}-` }],
    ['locale en', { locale: 'en' }],
    ['locale de', { locale: 'de' }],
    ['locale fr', { locale: 'fr' }],
    ['locale es', { locale: 'es' }],
    ['locale it', { locale: 'it' }],
  ])('201: %s', async (_what, overrides) => {
    const body = newTenant(overrides);
    expect((await register(body)).status).toBe(201);
    expect((await post(test, 'login', { email: body.email, password: body.password })).status).toBe(200);
  });

  it('201: a domain of 2 characters', async () => {
    const domains = 'abcdefghijklmnopqrstuvwxyz'.split('').map((letter) => `${letter}0`);
    for (const tenantDomain of domains) {
      if ((await register(newTenant({ tenantDomain }))).status === 201) return;
    }
    expect.unreachable('every domain is taken');
  });

  it.each([
    ['a password of 7 characters', { password: '1234567' }],
    ['a password of 7 characters beyond the BMP', { password: '😀'.repeat(7) }],
    ['a password of 8 code points that compose to 4', { password: 'e\u0301'.repeat(4) }],
    ['a password of 15 code points that compose to 7', { password: `${'\u1100\u1161'.repeat(7)}\u11a8` }],
    ['an address with two dots in a row', { email: 'ada..l@person.example' }],
    ['an address that begins with a dot', { email: '.ada@person.example' }],
    ['an address whose name ends with a dot', { email: 'ada.@person.example' }],
    ['an address with a sign that means two dots', { email: 'ada‥l@person.example' }],
    ['a password of 257 characters', { password: 'x'.repeat(257) }],
    ['a tenant name of 1 character', { tenantName: 'a' }],
    ['a tenant name of 256 characters', { tenantName: 'x'.repeat(256) }],
    ['a tenant name of blanks', { tenantName: '   ' }],
    ['a display name of 256 characters', { displayName: 'x'.repeat(256) }],
    ['a domain of 1 character', { tenantDomain: 'a' }],
    ['a domain of 64 characters', { tenantDomain: 'x'.repeat(64) }],
    ['a domain in capitals', { tenantDomain: 'Acme-x' }],
    ['a domain with a dot', { tenantDomain: 'acme.x' }],
    ['a domain with an underscore', { tenantDomain: 'acme_x' }],
    ['a domain with a line end', { tenantDomain: 'acme-x\n' }],
    ['a domain with a letter that looks like one', { tenantDomain: 'аcme-x' }],
    ['a locale that no tenant has', { locale: 'pt' }],
    ['a locale in capitals', { locale: 'EN' }],
    ['no address', { email: undefined }],
    ['no password', { password: undefined }],
    ['no tenant name', { tenantName: undefined }],
    ['no domain', { tenantDomain: undefined }],
    ['an invalid address', { email: 'ada' }],
    ['an address that turns into two', { email: 'a＠b.example@person.example' }],
    ['a tenant name of several lines', { tenantName: 'Bank.\r\n\r\nSign in at https://evil.example' }],
    ['a name of several lines', { displayName: 'Ada\nLovelace' }],
    ['a right one cannot give to oneself', { isSystemAdmin: true }],
    ['an id of the caller’s choice', { tenantId: '00000000-0000-7000-8000-000000000001' }],
  ])('400: %s', async (_what, overrides) => {
    expectError(await register(newTenant(overrides)), 400, 'VALIDATION_ERROR');
  });

  it('409: a known address; the attempt leaves no rows', async () => {
    const known = newTenant();
    await register(known);
    for (const email of [known.email, known.email.toUpperCase()]) {
      const attempt = newTenant({ email, password: 'another horse' });
      expectError(await register(attempt), 409, 'CONFLICT', 'EMAIL_TAKEN');
      expect((await register({ ...attempt, email: newEmail() })).status).toBe(201);
    }
    expect((await post(test, 'login', { email: known.email, password: 'another horse' })).status).toBe(401);
    expect((await post(test, 'login', { email: known.email, password: known.password })).status).toBe(200);
  });

  it('409: a taken domain; the attempt leaves no rows', async () => {
    const known = newTenant();
    await register(known);
    const attempt = newTenant({ tenantDomain: known.tenantDomain });
    expectError(await register(attempt), 409, 'CONFLICT', 'DOMAIN_TAKEN');
    expect((await post(test, 'login', { email: attempt.email, password: attempt.password })).status).toBe(401);
    expect((await register({ ...attempt, tenantDomain: unique('domain') })).status).toBe(201);
  });

  it('409: the domain of the installation', async () => {
    expectError(await register(newTenant({ tenantDomain: 'system' })), 409, 'CONFLICT', 'DOMAIN_TAKEN');
  });

  it.each(['www', 'api', 'admin', 'localhost', 'mail', 'postmaster', 'autodiscover'])(
    '409: a reserved domain exactly as a taken one: %s',
    async (tenantDomain) => {
      const known = newTenant();
      await register(known);
      const attempt = newTenant({ tenantDomain });
      const refused = await register(attempt);
      expectError(refused, 409, 'CONFLICT', 'DOMAIN_TAKEN');
      const taken = await register(newTenant({ tenantDomain: known.tenantDomain }));
      expect(comparable(refused)).toBe(comparable(taken));
      expect((await register({ ...attempt, tenantDomain: unique(tenantDomain) })).status).toBe(201);
      expectError(await register(newTenant({ tenantDomain, email: known.email })), 409, 'CONFLICT', 'EMAIL_TAKEN');
    },
  );

  it('409: all except one of 20 concurrent requests for one domain', async () => {
    const tenantDomain = unique('domain');
    expectOneOf(await inParallel(20, () => register(newTenant({ tenantDomain }))));
  });

  it('409: all except one of 20 concurrent requests for one address', async () => {
    const email = newEmail();
    expectOneOf(await inParallel(20, () => register(newTenant({ email }))));
    expect((await post(test, 'login', { email, password: 'correct horse' })).body.user.email).toBe(email);
  });

  it.each([
    ['IPv4', '203.0.113.70', '203.0.113.70', '203.0.113.71'],
    ['IPv6 /64', '2001:db8:7:1::1', '2001:db8:7:1::2', '2001:db8:7:2::1'],
  ])('429: more than 60 a minute from one address: %s', async (_what, ip, same, another) => {
    for (let count = 0; count < 59; count++) {
      await registrationAttempt(test.service.services, ip, TooManyRegistrations).admit();
    }
    expect((await register(newTenant(), ip)).status).toBe(201);
    const refused = await register(newTenant(), same);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_REGISTRATIONS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await register(newTenant(), another)).status).toBe(201);
    expect((await register(newTenant())).status).toBe(201);
    clock.advance(minute);
    expect((await register(newTenant(), same)).status).toBe(201);
  });

  it('gives the new user no permissions outside the new tenant', async () => {
    const [mine, theirs] = [newTenant(), newTenant()];
    await register(mine);
    const foreign = (await register(theirs)).body;
    const { token } = await logIn(test, { email: mine.email, password: mine.password });
    expect(await statusOf(test, token)).toBe(200);
    expectError(await test.call('GET', `/api/v1/secure/users/${foreign.user.id}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('GET', '/api/v1/system/mail-outbox', { token }), 403, 'AUTHORIZATION_ERROR');
    expectNoSecrets(test, [mine.password, mine.email]);
  });
});
