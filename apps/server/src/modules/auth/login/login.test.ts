import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf, comparable, day, expectNoSecrets, newEmail, post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, grant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
});

describe('login', () => {
  it('200: the session user and the tokens, exactly', async () => {
    const { userId, email, password } = tenant.admin;
    await grant(test, tenant.tenantId, userId, ['spaces.manage', 'users.read']);
    const answer = await post(test, 'login', { email, password });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toEqual({
      user: {
        id: userId,
        email,
        displayName: 'admin',
        fullName: 'admin',
        tenantId: tenant.tenantId,
        tenantName: tenant.name,
        groups: [expect.any(String)],
        groupDetails: [
          { id: expect.any(String), name: answer.body.user.groups[0], permissions: ['spaces.manage', 'users.read'] },
        ],
        permissions: ['spaces.manage', 'users.read'],
        isSystemAdmin: false,
        isTenantAdmin: true,
      },
      accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refreshToken: expect.stringMatching(/^rt1_[\w-]{43}$/),
      expiresIn: 900,
    });
    expect(await statusOf(test, answer.body.accessToken)).toBe(200);
  });

  it('200: only administrators of the system tenant are system administrators', async () => {
    const { email, password } = await logInSystemAdmin(test);
    expect((await post(test, 'login', { email, password })).body.user.isSystemAdmin).toBe(true);
  });

  it('200: the address in other case is the same address', async () => {
    const { email, password } = tenant.admin;
    for (const written of [email.toUpperCase(), email.replace('admin', 'ＡＤＭＩＮ')]) {
      const answer = await post(test, 'login', { email: written, password });
      expect({ written, status: answer.status }).toEqual({ written, status: 200 });
    }
  });

  it('200: tenantId names the tenant, also in upper case', async () => {
    const { email, password } = tenant.admin;
    const answer = await post(test, 'login', { email, password, tenantId: tenant.tenantId.toUpperCase() });
    expect(answer.body.user.tenantId).toBe(tenant.tenantId);
    expect(await statusOf(test, answer.body.accessToken)).toBe(200);
  });

  it('200: rememberMe makes the session longer', async () => {
    const { email, password } = await createMember(test, tenant);
    const lives: number[] = [];
    for (const rememberMe of [undefined, false, true]) {
      const { accessToken: token } = (await post(test, 'login', { email, password, rememberMe })).body;
      const sessions = await test.call('GET', '/api/v1/auth/sessions', { token });
      const own = sessions.body.data.find((session: { current: boolean }) => session.current);
      lives.push((Date.parse(own.expires_at) - Date.parse(own.created_at)) / day);
    }
    expect(lives).toEqual([1, 1, 14]);
  });

  it('200: is recorded with address and user', async () => {
    const member = await createMember(test, tenant);
    const { email, password, userId } = member;
    await post(test, 'login', { email, password }, { ip: '198.51.100.7', headers: { 'user-agent': 'x'.repeat(400) } });
    const [entry] = await auditOf(test, tenant.admin, 'auth.login');
    expect(entry).toMatchObject({ user_id: userId, ip_address: '198.51.100.7', user_agent: 'x'.repeat(256) });
    const users = await test.call('GET', `/api/v1/secure/users/${userId}`, { token: tenant.admin.token });
    expect(Date.parse(users.body.data.last_login_at)).toBeGreaterThan(0);
  });

  it.each([
    ['a password of 7 characters', { password: '1234567' }],
    ['7 characters in 14 code units', { password: '😀'.repeat(7) }],
    ['a password of 257 characters', { password: 'x'.repeat(257) }],
    ['no password', { password: undefined }],
    ['null for the password', { password: null }],
    ['a number for the password', { password: 12345678 }],
    ['no address', { email: undefined }],
    ['an address without domain', { email: 'ada@' }],
    ['an address that turns into two', { email: 'a＠b.example@person.example' }],
    ['an address that turns into a list', { email: 'a，b@person.example' }],
    ['an address of 255 characters', { email: `${'x'.repeat(64)}@${'y'.repeat(60)}.${'z.'.repeat(64)}aa` }],
    ['a tenantId that is not a uuid', { tenantId: 'acme' }],
    ['text for rememberMe', { rememberMe: 'true' }],
    ['an unknown property', { isSystemAdmin: true }],
  ])('400: %s', async (_what, body) => {
    const answer = await post(test, 'login', { email: newEmail(), password: 'long enough', ...body });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  it('401: the same bytes for every reason', async () => {
    const suspended = await createMember(test, tenant);
    const change = { token: tenant.admin.token, body: { status: 'suspended' } };
    expect((await test.call('PATCH', `/api/v1/secure/users/${suspended.userId}`, change)).status).toBe(200);
    const deleted = await createMember(test, tenant);
    await test.call('DELETE', `/api/v1/secure/users/${deleted.userId}`, { token: tenant.admin.token });
    const invited = newEmail();
    await test.call('POST', '/api/v1/secure/users', { token: tenant.admin.token, body: { email: invited } });
    const { email, password } = tenant.admin;
    const answers = [
      await post(test, 'login', { email: newEmail(), password }),
      await post(test, 'login', { email, password: 'wrong horse' }),
      await post(test, 'login', { email, password: `${password} ` }),
      await post(test, 'login', { email, password, tenantId: other.tenantId }),
      await post(test, 'login', { email, password, tenantId: newId() }),
      await post(test, 'login', { email: suspended.email, password: suspended.password }),
      await post(test, 'login', { email: suspended.email, password: 'wrong horse' }),
      await post(test, 'login', { email: deleted.email, password: deleted.password }),
      await post(test, 'login', { email: invited, password: 'no password yet' }),
    ];
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    const headers = answers.map(({ headers: { 'x-request-id': _id, date: _date, ...rest } }) => JSON.stringify(rest));
    expect(new Set(headers).size).toBe(1);
  });

  it('401: a suspended tenant has no login', async () => {
    const { tenantId, admin } = await createTenant(test);
    await test.service.services.database.tenant(tenantId).interactive.all({
      kind: 'write',
      text: "update tenants set status = 'suspended' where id = $1",
      values: [tenantId],
      prepare: false,
    });
    expectError(
      await post(test, 'login', { email: admin.email, password: admin.password }),
      401,
      'AUTHENTICATION_ERROR',
    );
  });

  it('401: is recorded in the tenants of the account, otherwise in the system tenant', async () => {
    const member = await createMember(test, other);
    await post(test, 'login', { email: member.email, password: 'wrong horse' });
    await post(test, 'login', { email: member.email, password: member.password, tenantId: newId() });
    const failures = await auditOf(test, other.admin, 'auth.login_failed');
    expect(failures.map((entry) => entry.user_id)).toEqual([member.userId, member.userId]);
    const from = '198.51.100.9';
    await post(test, 'login', { email: newEmail(), password: 'wrong horse' }, { ip: from });
    const system = await auditOf(test, await logInSystemAdmin(test), 'auth.login_failed');
    expect(system.filter((entry) => entry.ip_address === from)).toMatchObject([{ user_id: null }]);
  });

  it('never writes a password or a token into the log', async () => {
    const person = await createMember(test, tenant);
    const typed = 'typed into the wrong field';
    await post(test, 'login', { email: person.email, password: typed });
    await post(test, 'login', { email: typed, password: typed });
    await test.call('GET', '/api/v1/auth/me', { token: `${person.token}x` });
    expectNoSecrets(test, [person.password, person.token, person.refreshToken, typed, person.email]);
  });
});

describe('sessions of one user', () => {
  it('are limited to 20: the oldest ends', async () => {
    const member = await createMember(test, tenant);
    const { email, password } = member;
    const later = [];
    for (let count = 0; count < 20; count++) later.push(await logIn(test, { email, password }));
    expect(await statusOf(test, member.token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: member.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, later[0]!.token)).toBe(200);
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: later[0]!.token });
    expect(sessions.body.data).toHaveLength(20);
  });

  it('are limited to 20 when 30 start concurrently', async () => {
    const member = await createMember(test, tenant);
    const { email, password } = member;
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(test, 'login', { email, password })));
    const begun = answers.filter((answer) => answer.status === 200);
    const alive = await Promise.all(begun.map((answer) => statusOf(test, answer.body.accessToken)));
    expect(alive.filter((status) => status === 200).length).toBe(Math.min(20, begun.length));
  });
});
