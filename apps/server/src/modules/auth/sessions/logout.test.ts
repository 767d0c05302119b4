import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { auditOf, createClock, createPersonOfTwo, hour, inParallel, post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, startService, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const logout = (token: string | undefined, query = '') => post(test, `logout${query}`, undefined, { token });

describe('logout', () => {
  it('200: the next request and the next refresh are refused, and it is recorded', async () => {
    const member = await createMember(test, tenant);
    expect(await statusOf(test, member.token)).toBe(200);
    const answer = await logout(member.token);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { message: expect.any(String) },
    });
    expect(await statusOf(test, member.token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: member.refreshToken }), 401, 'INVALID_TOKEN');
    const [entry] = await auditOf(test, tenant.admin, 'auth.logout');
    expect(entry).toMatchObject({ user_id: member.userId, resource_type: 'session' });
  });

  it('200: other sessions continue', async () => {
    const member = await createMember(test, tenant);
    const other = await logIn(test, { email: member.email, password: member.password });
    await logout(member.token);
    expect(await statusOf(test, other.token)).toBe(200);
  });

  it('200: with scope=all revokes every session of the user in this tenant', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const inFirst: Person[] = [];
    for (let count = 0; count < 3; count++) {
      inFirst.push(await logIn(test, { email, password, tenantId: first.tenantId }));
    }
    const inSecond = await logIn(test, { email, password, tenantId: second.tenantId });
    expect(await Promise.all(inFirst.map((person) => statusOf(test, person.token)))).toEqual([200, 200, 200]);
    expect((await logout(inFirst[0]!.token, '?scope=all')).status).toBe(200);
    expect(await Promise.all(inFirst.map((person) => statusOf(test, person.token)))).toEqual([401, 401, 401]);
    for (const { refreshToken } of inFirst) expect((await post(test, 'refresh', { refreshToken })).status).toBe(401);
    expect(await statusOf(test, inSecond.token)).toBe(200);
    expect(await statusOf(test, first.admin.token)).toBe(200);
  });

  it('200: without a token, with an expired one, and with a malformed one', async () => {
    const { token } = await createMember(test, tenant);
    await logout(token);
    for (const dead of [undefined, token, `${token}x`, 'x', 'a b']) expect((await logout(dead)).status).toBe(200);
    for (const authorization of ['Basic eDp5', 'Bearer', '', token]) {
      expect((await post(test, 'logout', undefined, { headers: { authorization } })).status).toBe(200);
    }
  });

  it('200: with an empty body of type JSON', async () => {
    const answer = await test.raw({
      method: 'POST',
      url: '/api/v1/public/auth/logout',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.statusCode).toBe(200);
  });

  it('400: an unknown scope', async () => {
    const { token } = await createMember(test, tenant);
    expectError(await logout(token, '?scope=world'), 400, 'VALIDATION_ERROR');
    expect(await statusOf(test, token)).toBe(200);
  });
});

describe('logout of all sessions while 50 sessions start from the calling one', () => {
  it('leaves none of them active: 5 rounds', async () => {
    const { tenantId } = tenant;
    for (let round = 0; round < 5; round++) {
      const { token, userId } = await createMember(test, tenant);
      const switching = inParallel(50, () =>
        test.call('POST', '/api/v1/auth/switch-tenant', { token, body: { tenantId } }),
      );
      // The first of them have started, and others wait, when all are revoked.
      const { database } = test.service.services;
      const text = 'select count(*) > 1 as begun from sessions where tenant_id = $1 and user_id = $2';
      const count = { kind: 'read' as const, text, values: [tenantId, userId], prepare: false };
      await expect.poll(() => database.credential(tenantId).first(count), { interval: 1 }).toEqual({ begun: true });
      expect((await logout(token, '?scope=all')).status).toBe(200);
      for (const { status, body } of await switching) {
        if (status === 200) expect(await statusOf(test, body.accessToken)).toBe(401);
      }
      expect(await statusOf(test, token)).toBe(401);
    }
  });
});

describe('logout with an expired access token', () => {
  const past15Minutes = hour / 4 + 6000;

  it('200: ends its session and refresh tokens, and nothing else', async () => {
    const { admin } = await createTenant(test);
    const { email, password } = admin;
    const other = await logIn(test, { email, password });
    clock.advance(past15Minutes);
    expectError(await test.call('GET', '/api/v1/auth/me', { token: admin.token }), 401, 'TOKEN_EXPIRED');
    expect((await logout(admin.token)).status).toBe(200);
    expectError(await post(test, 'refresh', { refreshToken: admin.refreshToken }), 401, 'INVALID_TOKEN');
    const renewed = await post(test, 'refresh', { refreshToken: other.refreshToken });
    expect(renewed.status).toBe(200);
    const [entry] = await auditOf(test, { token: renewed.body.accessToken }, 'auth.logout');
    expect(entry).toMatchObject({ user_id: admin.userId, details: { sessions: 1 } });
  });

  it('200: with scope=all ends only its session, and the message says so', async () => {
    const { admin } = await createTenant(test);
    const { email, password } = admin;
    const other = await logIn(test, { email, password });
    clock.advance(past15Minutes);
    const answer = await logout(admin.token, '?scope=all');
    expect(answer).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('Other sessions continue') },
    });
    expectError(await post(test, 'refresh', { refreshToken: admin.refreshToken }), 401, 'INVALID_TOKEN');
    expect((await post(test, 'refresh', { refreshToken: other.refreshToken })).status).toBe(200);
  });

  it('every other operation refuses the token before, during and after the logout', async () => {
    const { admin } = await createTenant(test);
    const { token } = admin;
    clock.advance(past15Minutes);
    const refused = async () => {
      expectError(await test.call('GET', '/api/v1/auth/me', { token }), 401, 'TOKEN_EXPIRED');
      expectError(await test.call('GET', '/api/v1/secure/users', { token }), 401, 'TOKEN_EXPIRED');
    };
    await refused();
    // A refused logout identifies the session, too.
    expect((await logout(token, '?scope=world')).status).toBe(400);
    await refused();
    expect((await post(test, 'refresh', { refreshToken: admin.refreshToken })).status).toBe(200);
    await logout(token);
    await refused();
  });

  it('200: without effect for a foreign token, or an ended session', async () => {
    const { admin } = await createTenant(test);
    const { email, password, token } = admin;
    const other = await logIn(test, { email, password });
    const [head, body, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as { sid: string };
    const [{ sid }] = [JSON.parse(Buffer.from(other.token.split('.')[1]!, 'base64url').toString()) as { sid: string }];
    const forged = Buffer.from(JSON.stringify({ ...claims, sid })).toString('base64url');
    clock.advance(past15Minutes);
    for (const wrong of [
      `${head}.${forged}.${signature}`,
      `${head}.${body}.${other.token.split('.')[2]}`,
      `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${body}.`,
      `${token}x`,
    ]) {
      expect((await logout(wrong)).status).toBe(200);
    }
    expect((await logout(token)).status).toBe(200);
    expect((await logout(token)).status).toBe(200);
    const { refreshToken } = other;
    expect((await post(test, 'refresh', { refreshToken })).status).toBe(200);
  });
});

describe('a second process', () => {
  beforeAll(async () => {
    // After a change of the clock, earlier tokens have expired.
    tenant = await createTenant(test);
  });

  let second: Service;

  beforeAll(async () => {
    second = await startService({ now: clock.now });
  });
  afterAll(() => second.close());

  const statusThere = async (token: string) => {
    const request = { url: '/api/v1/auth/me', headers: { authorization: `Bearer ${token}` } };
    return (await second.http.inject(request)).statusCode;
  };
  const until401 = (token: string) => expect.poll(() => statusThere(token), { interval: 5, timeout: 5000 }).toBe(401);

  it('refuses the token as soon as the first process has ended the session', async () => {
    for (let round = 0; round < 5; round++) {
      const { token } = await createMember(test, tenant);
      expect(await statusThere(token)).toBe(200);
      await logout(token);
      await until401(token);
    }
  });

  it('refuses the tokens of all sessions that a password change revokes', async () => {
    const member = await createMember(test, tenant);
    const other = await logIn(test, { email: member.email, password: member.password });
    expect([await statusThere(member.token), await statusThere(other.token)]).toEqual([200, 200]);
    const body = { currentPassword: member.password, newPassword: 'another horse' };
    await test.call('POST', '/api/v1/auth/change-password', { token: member.token, body });
    await until401(other.token);
    expect(await statusThere(member.token)).toBe(200);
  });

  it('refuses the token of an evicted session', async () => {
    const member = await createMember(test, tenant);
    const { email, password } = member;
    expect(await statusThere(member.token)).toBe(200);
    for (let count = 0; count < 20; count++) await logIn(test, { email, password });
    await until401(member.token);
  });

  it('refuses a suspended user', async () => {
    const member = await createMember(test, tenant);
    expect(await statusThere(member.token)).toBe(200);
    const url = `/api/v1/secure/users/${member.userId}`;
    await test.call('PATCH', url, { token: tenant.admin.token, body: { status: 'suspended' } });
    await until401(member.token);
  });

  it('refuses a replayed session', async () => {
    const member = await createMember(test, tenant);
    expect(await statusThere(member.token)).toBe(200);
    const { refreshToken } = (await post(test, 'refresh', { refreshToken: member.refreshToken })).body;
    for (const used of [refreshToken, member.refreshToken]) await post(test, 'refresh', { refreshToken: used });
    await until401(member.token);
  });
});

describe('an access token', () => {
  it('ends after 15 minutes', async () => {
    const { token } = await createMember(test, await createTenant(test));
    expect(await statusOf(test, token)).toBe(200);
    clock.advance(hour / 4 + 6000);
    expectError(await test.call('GET', '/api/v1/auth/me', { token }), 401, 'TOKEN_EXPIRED');
  });
});
