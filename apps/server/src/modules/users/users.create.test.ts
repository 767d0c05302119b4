import { beforeAll, describe, expect, it } from 'vitest';

import { mailsTo, post, tokenIn } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, proveAddress, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/users';
const password = 'correct horse';
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  await proveAddress(test, tenant.admin.email);
  token = tenant.admin.token;
});

const newEmail = () => `${unique('person')}@example.com`;
const create = (body: unknown, by = token): Promise<Answer> => test.call('POST', path, { token: by, body });
const login = (email: string, secret = password, tenantId?: string): Promise<Answer> =>
  test.call('POST', '/api/v1/public/auth/login', {
    body: { email, password: secret, ...(tenantId === undefined ? {} : { tenantId }) },
  });

/** The texts of the mails to an address, the newest first. */
const textsTo = async (recipient: string): Promise<string[]> =>
  (await mailsTo(test, recipient)).map(({ text }) => text);

describe('createUser', () => {
  it('201: a person with a password can log in at once', async () => {
    const email = newEmail();
    const body = { email: email.toUpperCase(), password, displayName: 'Ada', fullName: 'Ada Lovelace', locale: 'de' };
    const created = await create(body);
    expect(created.status).toBe(201);
    expect(created.body.data).toEqual({
      id: expect.any(String),
      email,
      displayName: 'Ada',
      fullName: 'Ada Lovelace',
      locale: 'de',
      phone: null,
      status: 'active',
      isTenantAdmin: false,
      groups: [],
      last_login_at: null,
      created_at: expect.any(String),
      updated_at: created.body.data.created_at,
    });
    const answer = await login(email);
    expect(answer).toMatchObject({
      status: 200,
      body: { user: { id: created.body.data.id, tenantId: tenant.tenantId, isTenantAdmin: false, permissions: [] } },
    });
    const read = await test.call('GET', `${path}/${created.body.data.id}`, { token });
    expect(read.body.data).toEqual({ ...created.body.data, last_login_at: expect.any(String) });
  });

  it('201: with an address only; it provides the names', async () => {
    const email = newEmail();
    const name = email.slice(0, email.indexOf('@'));
    expect((await create({ email })).body.data).toMatchObject({ displayName: name, fullName: name, locale: 'en' });
  });

  it('201: without a password, mails a link to set one, valid once', async () => {
    const email = newEmail();
    expect((await create({ email })).status).toBe(201);
    expectError(await login(email), 401, 'AUTHENTICATION_ERROR');
    const [text, ...others] = await textsTo(email);
    expect(others).toEqual([]);
    expect(text).toContain(tenant.name);
    expect(text).toContain('http://127.0.0.1:8080/accept-invitation#token=');
    const resetToken = /#token=([\w-]{43})\b/.exec(text!)?.[1];
    const reset = () =>
      test.call('POST', '/api/v1/public/auth/reset-password', { body: { token: resetToken, password } });
    expect((await reset()).status).toBe(200);
    expect((await login(email)).status).toBe(200);
    expectError(await reset(), 401, 'AUTHENTICATION_ERROR');
  });

  it('201: a person with an account is invited and keeps the existing password', async () => {
    const [email, other] = [newEmail(), await createTenant(test)];
    await proveAddress(test, other.admin.email);
    await create({ email, password });
    await proveAddress(test, email);
    const invited = await create({ email, password: 'another password' }, other.admin.token);
    expect(invited).toMatchObject({ status: 201, body: { data: { email, status: 'invited' } } });
    expectError(await login(email, 'another password'), 401, 'AUTHENTICATION_ERROR');
    expect((await login(email)).body.user.tenantId).toBe(tenant.tenantId);
    expectError(await login(email, password, other.tenantId), 401, 'AUTHENTICATION_ERROR');
    const mails = await textsTo(email);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toContain(other.name);

    expect((await post(test, 'accept-invitation', { token: tokenIn(mails[0]!) })).status).toBe(200);
    const answer = await login(email);
    expect(answer.body).toMatchObject({ requiresTenantSelection: true });
    expect(answer.body.tenants.map(({ id }: { id: string }) => id).toSorted()).toEqual(
      [tenant.tenantId, other.tenantId].toSorted(),
    );
    const there = await login(email, password, other.tenantId);
    expect(there.body.user).toMatchObject({ id: invited.body.data.id, tenantId: other.tenantId });
  });

  it('201: an account that a stranger registered with the address gives no access', async () => {
    const [email, attacker] = [newEmail(), await createTenant(test)];
    await create({ email, password: 'of the attacker' }, attacker.admin.token);
    const invited = await create({ email });
    expect(invited.body.data.status).toBe('invited');
    expect((await login(email, 'of the attacker')).body.user.tenantId).toBe(attacker.tenantId);
    expectError(await login(email, 'of the attacker', tenant.tenantId), 401, 'AUTHENTICATION_ERROR');

    const [mail] = await textsTo(email);
    const link = /#token=([\w-]{43})\n/.exec(mail!)![1];
    const body = { token: link, password: 'of the owner' };
    const accept = () => test.call('POST', '/api/v1/public/auth/reset-password', { body });
    const accepted = await Promise.all(Array.from({ length: 50 }, accept));
    expect(accepted.filter(({ status }) => status === 200)).toHaveLength(1);
    expectError(await login(email, 'of the attacker'), 401, 'AUTHENTICATION_ERROR');
    const joined = await login(email, 'of the owner', tenant.tenantId);
    expect(joined.body.user).toMatchObject({ id: invited.body.data.id, tenantId: tenant.tenantId });
  });

  it('201: an administrator, by an administrator', async () => {
    const email = newEmail();
    expect((await create({ email, password, isTenantAdmin: true })).body.data.isTenantAdmin).toBe(true);
    const admin = await logIn(test, { email, password });
    expect((await create({ email: newEmail(), isTenantAdmin: true }, admin.token)).status).toBe(201);
  });

  it('201: an ordinary user, by a member of a group that holds users.manage', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    expect((await create({ email: newEmail(), isTenantAdmin: false }, manager.token)).status).toBe(201);
  });

  it.each([
    ['a password of 8 characters', { password: '12345678' }],
    ['a password of 256 characters', { password: 'x'.repeat(256) }],
    ['names of 255 characters', { displayName: 'x'.repeat(255), fullName: 'x'.repeat(255) }],
  ])('201: %s', async (_what, fields) => {
    expect((await create({ email: newEmail(), ...fields })).status).toBe(201);
  });

  it.each([
    ['no address', { email: undefined }],
    ['an invalid address', { email: 'ada@' }],
    ['an address of 255 characters', { email: `${'x'.repeat(60)}@${'y'.repeat(60)}.${'z'.repeat(133)}` }],
    ['a password of 7 characters', { password: '1234567' }],
    ['a password that composes to 7', { password: 'e\u0301'.repeat(7) }],
    ['a password of 257 characters', { password: 'x'.repeat(257) }],
    ['null for the password', { password: null }],
    ['an empty name', { displayName: '' }],
    ['a blank name', { fullName: '  ' }],
    ['a name of 256 characters', { displayName: 'x'.repeat(256) }],
    ['a locale with a region', { locale: 'de-DE' }],
    ['a locale in capitals', { locale: 'DE' }],
    ['text for a boolean', { isTenantAdmin: 'true' }],
    ['a status', { status: 'active' }],
    ['groups', { groups: ['admins'] }],
    ['isSystemAdmin', { isSystemAdmin: true }],
  ])('400: %s', async (_what, fields) => {
    expectError(await create({ email: newEmail(), ...fields }), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for a plain member and for one who may only read users', async () => {
    expectError(await test.call('POST', path, { body: { email: newEmail() } }), 401, 'AUTHENTICATION_ERROR');
    for (const permissions of [[], ['users.read']]) {
      const member = await createMember(test, tenant, { permissions });
      expectError(await create({ email: newEmail() }, member.token), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('409: an existing user of the tenant, in any spelling; mails nothing', async () => {
    const email = newEmail();
    await create({ email, password });
    expectError(await create({ email: email.toUpperCase(), password }), 409, 'CONFLICT', 'USER_EXISTS');
    expectError(await create({ email }), 409, 'CONFLICT', 'USER_EXISTS');
    expect(await textsTo(email)).toEqual([]);
    expect((await login(email)).status).toBe(200);
  });

  it('409: exactly one of 20 concurrent requests succeeds', async () => {
    const email = newEmail();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ email })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    // Only three get that far, because only three mails may go to one address.
    expect(answers.filter(({ status }) => status === 409 || status === 429)).toHaveLength(19);
    expect(await textsTo(email)).toHaveLength(1);
  });

  it('422: a locale that is not a language of the tenant; creates no user', async () => {
    const own = await createTenant(test);
    const by = own.admin.token;
    const body = { email: newEmail(), password, locale: 'nl' };
    expectError(await create(body, by), 422, 'UNPROCESSABLE_ENTITY', 'LOCALE_NOT_OFFERED');
    await test.call('PATCH', `/api/v1/secure/tenants/${own.tenantId}`, {
      token: by,
      body: { languages: ['en', 'nl'] },
    });
    expect((await create(body, by)).body.data.locale).toBe('nl');
  });

  it('422: an administrator, by a user who is not an administrator', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
    const email = newEmail();
    const refused = await create({ email, password, isTenantAdmin: true }, manager.token);
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    const found = await test.call('GET', `${path}?email=${email}`, { token });
    expect(found.body.data).toEqual([]);
  });
});
