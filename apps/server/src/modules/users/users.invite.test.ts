import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import {
  auditOf,
  countInvitations,
  countStatuses,
  createClock,
  day,
  expectNoSecrets,
  inParallel,
  invite,
  mailedToken,
  mailsTo,
  minute,
  newEmail,
  post,
} from '#modules/auth/testing/steps';
import {
  createMember,
  createTenant,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/secure/users';
let tenant: Tenant;
let token: string;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  await proveAddress(test, tenant.admin.email);
  token = tenant.admin.token;
  manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
});

const inviteAs = (by: string, body: unknown): Promise<Answer> =>
  test.call('POST', `${path}/invite`, { token: by, body });
const resend = (id: string, by = token): Promise<Answer> => test.call('POST', `${path}/${id}/invite`, { token: by });
const accept = (body: unknown): Promise<Answer> => post(test, 'accept-invitation', body);

async function createGroup(permissions: string[] = [], of = token): Promise<{ id: string; name: string }> {
  const body = { name: unique('group'), permissions };
  const created = await test.call('POST', '/api/v1/secure/groups', { token: of, body });
  expect(created.status).toBe(201);
  return created.body.data;
}

describe('inviteUser', () => {
  it('201: an invited user with all fields of the request, and a mail with a link', async () => {
    const email = newEmail();
    const groups = [await createGroup(['users.read']), await createGroup()];
    const body = {
      email: email.toUpperCase(),
      displayName: 'Ada',
      fullName: 'Ada Lovelace',
      locale: 'de',
      isTenantAdmin: true,
      groupIds: groups.map(({ id }) => id.toUpperCase()),
    };
    const invited = await inviteAs(token, body);
    expect(invited.status).toBe(201);
    expect(invited.body.data).toEqual({
      id: expect.any(String),
      email,
      displayName: 'Ada',
      fullName: 'Ada Lovelace',
      locale: 'de',
      phone: null,
      status: 'invited',
      isTenantAdmin: true,
      groups: groups.map(({ name }) => name).toSorted(),
      last_login_at: null,
      created_at: expect.any(String),
      updated_at: invited.body.data.created_at,
    });
    const [mail, ...others] = await mailsTo(test, email);
    expect(others).toEqual([]);
    expect(mail!.subject).toBe(`You are invited to ${tenant.name}`);
    expect(mail!.text).toMatch(/http:\/\/127\.0\.0\.1:8080\/accept-invitation#token=[\w-]{43}\n/);
    const trail = await auditOf(test, tenant.admin, 'user.invited');
    expect(trail.find((entry) => entry.resource_id === invited.body.data.id)!.user_id).toBe(tenant.admin.userId);
    expectNoSecrets(test, [await mailedToken(test, email), email]);
  });

  it('201: with an address only; it provides the names', async () => {
    const email = newEmail();
    const name = email.slice(0, email.indexOf('@'));
    expect((await inviteAs(token, { email })).body.data).toMatchObject({
      displayName: name,
      fullName: name,
      locale: 'en',
      isTenantAdmin: false,
      groups: [],
    });
  });

  it('201: a group in two spellings counts once', async () => {
    const group = await test.call('POST', '/api/v1/secure/groups', { token, body: { name: unique('group') } });
    const { id, name } = group.body.data;
    const invited = await inviteAs(token, { email: newEmail(), groupIds: [id, id.toUpperCase()] });
    expect(invited).toMatchObject({ status: 201, body: { data: { groups: [name] } } });
  });

  it('400: a name of several lines, which could change the mail', async () => {
    for (const displayName of ['Ada\r\nBcc: all@example.com', 'Ada\u2028Lovelace', 'Ada\u0007'])
      expectError(await inviteAs(token, { email: newEmail(), displayName }), 400, 'VALIDATION_ERROR');
  });

  it('201: by a user manager, into groups with no more permissions', async () => {
    const group = await createGroup(['users.read']);
    const invited = await inviteAs(manager.token, { email: newEmail(), groupIds: [group.id] });
    expect(invited).toMatchObject({ status: 201, body: { data: { groups: [group.name] } } });
  });

  it('201: with 50 groups, whose permissions apply after the user has joined', async () => {
    const email = newEmail();
    const groups = await Promise.all(Array.from({ length: 49 }, () => createGroup()));
    const groupIds = [...groups, await createGroup(['spaces.manage'])].map(({ id }) => id);
    const invited = await invite(test, tenant, { email, groupIds });
    expect((await accept({ token: invited.token, password: 'correct horse' })).status).toBe(200);
    const login = await post(test, 'login', { email, password: 'correct horse' });
    expect(login.body.user.groups).toHaveLength(50);
    expect(login.body.user.permissions).toEqual(['spaces.manage']);
  });

  it.each([
    ['no address', { email: undefined }],
    ['an invalid address', { email: 'ada@' }],
    ['an address with two dots in a row', { email: 'ada..l@example.com' }],
    ['a password', { password: 'correct horse' }],
    ['a name of 256 characters', { displayName: 'x'.repeat(256) }],
    ['a blank name', { fullName: ' ' }],
    ['a locale with a region', { locale: 'de-DE' }],
    ['text for a boolean', { isTenantAdmin: 'yes' }],
    ['51 groups', { groupIds: Array.from({ length: 51 }, () => newId()) }],
    ['a group twice', { groupIds: ['01890000-0000-7000-8000-000000000000', '01890000-0000-7000-8000-000000000000'] }],
    ['a group that is not an id', { groupIds: ['admins'] }],
    ['groups that are not a list', { groupIds: newId() }],
    ['a status', { status: 'active' }],
  ])('400: %s', async (_what, fields) => {
    expectError(await inviteAs(token, { email: newEmail(), ...fields }), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for a plain member and one who may only read users', async () => {
    expectError(
      await test.call('POST', `${path}/invite`, { body: { email: newEmail() } }),
      401,
      'AUTHENTICATION_ERROR',
    );
    for (const permissions of [[], ['users.read']]) {
      const member = await createMember(test, tenant, { permissions });
      expectError(await inviteAs(member.token, { email: newEmail() }), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('404: an unknown group and one of another tenant; invites no user', async () => {
    const foreign = await createGroup([], (await createTenant(test)).admin.token);
    const own = await createGroup();
    const email = newEmail();
    for (const id of [newId(), foreign.id]) {
      expectError(await inviteAs(token, { email, groupIds: [own.id, id] }), 404, 'NOT_FOUND', 'GROUP_NOT_FOUND');
    }
    expect(await mailsTo(test, email)).toEqual([]);
    expect((await test.call('GET', `${path}?email=${email}`, { token })).body.data).toEqual([]);
  });

  it('409: an existing user of the tenant, invited or not; mails nothing', async () => {
    const member = await createMember(test, tenant);
    expectError(await inviteAs(token, { email: member.email.toUpperCase() }), 409, 'CONFLICT', 'USER_EXISTS');
    const email = newEmail();
    await inviteAs(token, { email });
    expectError(await inviteAs(token, { email }), 409, 'CONFLICT', 'USER_EXISTS');
    expect(await mailsTo(test, member.email)).toEqual([]);
    expect(await mailsTo(test, email)).toHaveLength(1);
  });

  it('409 or 429: all except one of 20 concurrent requests', async () => {
    const email = newEmail();
    const {
      201: invited,
      409: known = 0,
      429: waiting = 0,
    } = countStatuses(await inParallel(20, () => inviteAs(token, { email })));
    expect({ invited, others: known + waiting }).toEqual({ invited: 1, others: 19 });
    expect(await mailsTo(test, email)).toHaveLength(1);
  });

  it('422: a locale that is not a language of the tenant; mails nothing', async () => {
    const email = newEmail();
    const refused = await inviteAs(token, { email, locale: 'nl' });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'LOCALE_NOT_OFFERED');
    expect(await mailsTo(test, email)).toEqual([]);
  });

  it('422: an administrator, or groups with permissions that the caller lacks', async () => {
    const email = newEmail();
    const administrator = await inviteAs(manager.token, { email, isTenantAdmin: true });
    expectError(administrator, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    const strong = await createGroup(['users.read', 'spaces.manage']);
    const above = await inviteAs(manager.token, { email, groupIds: [strong.id] });
    expectError(above, 422, 'UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN');
    expect(above.body.details.missing).toEqual(['spaces.manage']);
    expect(await mailsTo(test, email)).toEqual([]);
  });

  it('429: three mails in ten minutes to one person, from all tenants', async () => {
    const email = newEmail();
    for (let count = 0; count < 3; count++) await invite(test, await createTenant(test), { email });
    const fourth = await createTenant(test);
    const refused = await inviteAs(fourth.admin.token, { email });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_INVITATIONS');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    clock.advance(10 * minute);
    expect((await inviteAs(fourth.admin.token, { email })).status).toBe(201);
  });

  it('429: 200 mails in a day from one tenant, to all addresses; users without a mail do not count', async () => {
    const busy = await createTenant(test);
    await proveAddress(test, busy.admin.email);
    await countInvitations(test, busy.tenantId, 199);
    expect((await inviteAs(busy.admin.token, { email: newEmail() })).status).toBe(201);
    const refused = await inviteAs(busy.admin.token, { email: newEmail() });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_INVITATIONS');
    await createMember(test, busy);
    clock.advance(day);
    const { email, password } = busy.admin;
    const again = (await post(test, 'login', { email, password })).body.accessToken;
    expect((await inviteAs(again, { email: newEmail() })).status).toBe(201);
  });
});

describe('inviteUser of a tenant without an administrator who has verified an address', () => {
  it('201 or 429: 10 mails in a day, of 50 concurrent requests; more after an address is verified', async () => {
    const fresh = await createTenant(test);
    const answers = await inParallel(50, () => inviteAs(fresh.admin.token, { email: newEmail() }));
    expect(countStatuses(answers)).toEqual({ 201: 10, 429: 40 });
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_INVITATIONS');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    await proveAddress(test, fresh.admin.email);
    expect((await inviteAs(fresh.admin.token, { email: newEmail() })).status).toBe(201);
  });

  it('201: the mail names no tenant', async () => {
    const fresh = await createTenant(test);
    const email = newEmail();
    await invite(test, fresh, { email });
    const [mail] = await mailsTo(test, email);
    expect(mail!.subject).toBe('You are invited to join a tenant');
    expect(mail!.text).toContain('/accept-invitation#token=');
    for (const name of [fresh.name, fresh.domain]) expect(mail!.text).not.toContain(name);
  });

  it('201: a verified user who is not an administrator changes nothing', async () => {
    const fresh = await createTenant(test);
    await proveAddress(test, (await createMember(test, fresh)).email);
    const email = newEmail();
    await invite(test, fresh, { email });
    expect((await mailsTo(test, email))[0]!.subject).toBe('You are invited to join a tenant');
  });
});

it('the name of a tenant is always plain text in an invitation', async () => {
  const fresh = await createTenant(test);
  await proveAddress(test, fresh.admin.email);
  const name = 'Prize: https://evil.example/win?x=1 or ada@evil.example';
  const change = { token: fresh.admin.token, body: { name } };
  expect((await test.call('PATCH', `/api/v1/secure/tenants/${fresh.tenantId}`, change)).status).toBe(200);
  const email = newEmail();
  await invite(test, fresh, { email });
  const [mail] = await mailsTo(test, email);
  expect(mail!.subject).toBe('You are invited to Prize https evil example win?x=1 or ada evil example');
  expect(mail!.text.match(/\S+:\/\/\S+/g)).toEqual([expect.stringContaining('/accept-invitation#token=')]);
  expect(mail!.text).not.toContain('evil.example');
});

describe('resendInvitation', () => {
  // After a change of the clock, earlier tokens have expired.
  beforeAll(async () => {
    tenant = await createTenant(test);
    await proveAddress(test, tenant.admin.email);
    token = tenant.admin.token;
    manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
  });

  it('200: sends a new link and revokes the older one', async () => {
    const email = newEmail();
    const first = await invite(test, tenant, { email });
    const answer = await resend(first.userId);
    expect(answer).toMatchObject({ status: 200, body: { data: { id: first.userId, email, status: 'invited' } } });
    const second = await mailedToken(test, email);
    expect(second).not.toBe(first.token);
    expectError(await accept({ token: first.token, password: 'correct horse' }), 401, 'AUTHENTICATION_ERROR');
    expect((await accept({ token: second, password: 'correct horse' })).status).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'user.invitation_sent');
    expect(entry).toMatchObject({ user_id: tenant.admin.userId, resource_id: first.userId });
  });

  it('200: by a user manager, with an id in upper case', async () => {
    const { userId } = await invite(test, tenant, { email: newEmail() });
    expect((await resend(userId.toUpperCase(), manager.token)).status).toBe(200);
  });

  it('400, 401, 403: no uuid, no credentials, a plain member', async () => {
    const { userId } = await invite(test, tenant, { email: newEmail() });
    expectError(await resend('me'), 400, 'VALIDATION_ERROR');
    expectError(await test.call('POST', `${path}/${userId}/invite`), 401, 'AUTHENTICATION_ERROR');
    expectError(await resend(userId, (await createMember(test, tenant)).token), 403, 'AUTHORIZATION_ERROR');
  });

  it("404: an unknown, a deleted and another tenant's user", async () => {
    const { userId } = await invite(test, tenant, { email: newEmail() });
    expectError(await resend(userId, (await createTenant(test)).admin.token), 404, 'NOT_FOUND');
    expectError(await resend(newId()), 404, 'NOT_FOUND');
    await test.call('DELETE', `${path}/${userId}`, { token });
    expectError(await resend(userId), 404, 'NOT_FOUND');
  });

  it('409: a user who has joined', async () => {
    const { userId, email } = await createMember(test, tenant);
    expectError(await resend(userId), 409, 'CONFLICT', 'USER_ALREADY_JOINED');
    expect(await mailsTo(test, email)).toEqual([]);
  });

  it('422: an administrator, by a user who is not an administrator', async () => {
    const { userId } = await invite(test, tenant, { email: newEmail(), isTenantAdmin: true });
    expectError(await resend(userId, manager.token), 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
  });

  it('429: three mails in ten minutes, including the invitation', async () => {
    const { userId } = await invite(test, tenant, { email: newEmail() });
    const answers = await inParallel(10, () => resend(userId));
    expect(countStatuses(answers)).toEqual({ 200: 2, 429: 8 });
  });
});

describe('an invitation', () => {
  /** Mails to the address that are still in the outbox. */
  const waiting = async (email: string) =>
    (await mailsTo(test, email)).filter((mail) => mail.sent_at === null && mail.given_up_at === null);

  it('is not mailed after its withdrawal', async () => {
    const email = newEmail();
    const { userId } = await invite(test, tenant, { email });
    expect(await waiting(email)).toHaveLength(1);
    expect((await test.call('DELETE', `${path}/${userId}`, { token })).status).toBe(204);
    expect(await waiting(email)).toEqual([]);
    expect(await mailsTo(test, email)).toMatchObject([{ text: '', last_error: 'cancelled' }]);
  });

  it('is mailed only with its newest link', async () => {
    const email = newEmail();
    const { userId } = await invite(test, tenant, { email });
    expect((await resend(userId)).status).toBe(200);
    const [newest, older] = await mailsTo(test, email);
    expect(await waiting(email)).toEqual([newest]);
    expect(older).toMatchObject({ text: '', last_error: 'cancelled' });
  });

  it('is not mailed if it is resent and withdrawn concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      const email = newEmail();
      const { userId } = await invite(test, tenant, { email });
      const url = `${path}/${userId}`;
      const answers = await inParallel(50, (at) => (at < 2 ? resend(userId) : test.call('DELETE', url, { token })));
      expect(countStatuses(answers)[204]).toBe(1);
      expect(await waiting(email)).toEqual([]);
    }
  });

  it('is revoked with the user', async () => {
    const email = newEmail();
    const { userId, token: link } = await invite(test, tenant, { email });
    expect((await test.call('DELETE', `${path}/${userId}`, { token })).status).toBe(204);
    for (const operation of ['accept-invitation', 'reset-password']) {
      const answer = await post(test, operation, { token: link, password: 'correct horse' });
      expectError(answer, 401, 'AUTHENTICATION_ERROR');
    }
    expectError(await post(test, 'login', { email, password: 'correct horse' }), 401, 'AUTHENTICATION_ERROR');
    const again = await invite(test, tenant, { email });
    expect(again.userId).not.toBe(userId);
    expect((await accept({ token: again.token, password: 'correct horse' })).status).toBe(200);
  });

  it('is accepted completely or not at all while 20 requests withdraw it', async () => {
    for (let round = 0; round < 5; round++) {
      const email = newEmail();
      const invited = await invite(test, tenant, { email });
      const url = `${path}/${invited.userId}`;
      const [joined, ...deleted] = await inParallel(21, (at) =>
        at === 0 ? accept({ token: invited.token, password: 'correct horse' }) : test.call('DELETE', url, { token }),
      );
      expect([200, 401]).toContain(joined!.status);
      expect(countStatuses(deleted)).toEqual({ 204: 1, 404: 19 });
      expectError(await post(test, 'login', { email, password: 'correct horse' }), 401, 'AUTHENTICATION_ERROR');
    }
  });
});

describe('the system tenant', () => {
  it('422: the API cannot create an administrator of it', async () => {
    const root = await logInSystemAdmin(test);
    const refused = (answer: Answer) => expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'BOOTSTRAP_ONLY');
    refused(await inviteAs(root.token, { email: newEmail(), isTenantAdmin: true }));
    const body = { email: newEmail(), password: 'correct horse' };
    refused(await test.call('POST', path, { token: root.token, body: { ...body, isTenantAdmin: true } }));
    const created = await test.call('POST', path, { token: root.token, body });
    expect(created.status).toBe(201);
    const url = `${path}/${created.body.data.id}`;
    refused(await test.call('PATCH', url, { token: root.token, body: { isTenantAdmin: true, displayName: 'x' } }));
    expect((await test.call('GET', url, { token: root.token })).body.data).toEqual(created.body.data);
    expect((await test.call('DELETE', url, { token: root.token })).status).toBe(204);
  });

  it('201: its administrators appoint administrators of the tenants that they name', async () => {
    const headers = { 'x-tenant-id': tenant.tenantId };
    const { token: root } = await logInSystemAdmin(test);
    const body = { email: newEmail(), isTenantAdmin: true };
    expect((await test.call('POST', `${path}/invite`, { token: root, headers, body })).status).toBe(201);
    expect(tenant.tenantId).not.toBe(systemTenantId);
  });
});
