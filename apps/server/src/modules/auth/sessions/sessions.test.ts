import { beforeAll, describe, expect, it } from 'vitest';

import { permissionNames } from '#core/base/access/permissions';
import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import {
  auditOf,
  comparable,
  createPersonOfTwo,
  inParallel,
  countStatuses,
  post,
  statusOf,
} from '#modules/auth/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  grant,
  logIn,
  logInSystemAdmin,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/auth/sessions';
let tenant: Tenant;

type Session = { id: string; current: boolean; ip_address: string; user_agent: string; [name: string]: unknown };

beforeAll(async () => {
  tenant = await createTenant(test);
});

async function list(token: string): Promise<Session[]> {
  const answer = await test.call('GET', path, { token });
  expect(answer.status).toBe(200);
  return answer.body.data;
}

const revoke = (token: string, id: string) => test.call('DELETE', `${path}/${id}`, { token });

describe('getCurrentUser', () => {
  it('200: the user, exactly', async () => {
    const { token, userId, email } = await createMember(test, tenant, { permissions: ['users.read'] });
    const answer = await test.call('GET', '/api/v1/auth/me', { token });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: {
        id: userId,
        email,
        tenantId: tenant.tenantId,
        groups: [expect.any(String)],
        displayName: email.split('@')[0],
        locale: 'en',
      },
    });
  });

  describe('with include=permissions', () => {
    const permissionsOf = async (token: string) => {
      const answer = await test.call('GET', '/api/v1/auth/me?include=permissions', { token });
      expect(answer.status).toBe(200);
      const { permissions, isTenantAdmin, isSystemAdmin } = answer.body.data;
      return { permissions, isTenantAdmin, isSystemAdmin };
    };

    it('200: the current permissions of the groups of the user, sorted, without duplicates', async () => {
      const { token, userId } = await createMember(test, tenant, { permissions: ['users.read', 'groups.read'] });
      await grant(test, tenant.tenantId, userId, ['users.read', 'audit_logs.read']);
      expect(await permissionsOf(token)).toEqual({
        permissions: ['audit_logs.read', 'groups.read', 'users.read'],
        isTenantAdmin: false,
        isSystemAdmin: false,
      });
    });

    it('200: every permission of a tenant administrator', async () => {
      expect(await permissionsOf(tenant.admin.token)).toEqual({
        permissions: permissionNames.toSorted(),
        isTenantAdmin: true,
        isSystemAdmin: false,
      });
    });

    it('200: of a system administrator in the home tenant, for every named tenant', async () => {
      const { token } = await logInSystemAdmin(test);
      expect(await permissionsOf(token)).toMatchObject({ isTenantAdmin: true, isSystemAdmin: true });
      const headers = { 'x-tenant-id': tenant.tenantId };
      const answer = await test.call('GET', '/api/v1/auth/me?include=permissions', { token, headers });
      expect(answer.body.data).toMatchObject({ tenantId: systemTenantId, isSystemAdmin: true });
    });

    it('200: the flags of an app account, sorted', async () => {
      const permissions = { spaces: { write: true, read: true, delete: false }, geo: { geocode: true } };
      const { token } = await logIn(test, await createAppAccount(test, tenant, { permissions }));
      expect(await permissionsOf(token)).toEqual({
        permissions: ['geo.geocode', 'spaces.read', 'spaces.write'],
        isTenantAdmin: false,
        isSystemAdmin: false,
      });
      const plain = await test.call('GET', '/api/v1/auth/me', { token });
      expect(Object.keys(plain.body.data).toSorted()).toEqual([
        'displayName',
        'email',
        'groups',
        'id',
        'locale',
        'tenantId',
      ]);
    });

    it.each(['include=', 'include=groups', 'include=permissions&include=permissions'])('400: %s', async (query) => {
      const answer = await test.call('GET', `/api/v1/auth/me?${query}`, { token: tenant.admin.token });
      expectError(answer, 400, 'VALIDATION_ERROR');
    });
  });

  it('401: without a token', async () => {
    const answer = await test.call('GET', '/api/v1/auth/me');
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });
});

describe('listOwnSessions', () => {
  it('200: newest first, the current one marked, with their origins', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const from = { ip: '198.51.100.40', headers: { 'user-agent': 'Phone/1.0' } };
    const phone = (await post(test, 'login', { email, password }, from)).body.accessToken;
    const sessions = await list(phone);
    expect(sessions).toMatchObject([
      { current: true, ip_address: from.ip, user_agent: 'Phone/1.0' },
      { current: false, ip_address: '127.0.0.1' },
    ]);
    expect(Object.keys(sessions[0]!).toSorted()).toEqual([
      'created_at',
      'current',
      'expires_at',
      'id',
      'ip_address',
      'last_used_at',
      'user_agent',
    ]);
    expect((await list(token)).map((session) => session.current)).toEqual([false, true]);
  });

  it('200: only those of this tenant', async () => {
    const { email, password, first, second } = await createPersonOfTwo(test);
    const inFirst = await logIn(test, { email, password, tenantId: first.tenantId });
    const before = (await list(inFirst.token)).length;
    await logIn(test, { email, password, tenantId: second.tenantId });
    expect(await list(inFirst.token)).toHaveLength(before);
  });

  it('401: without a token', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('revokeSession', () => {
  it('204: applies to the next request and refresh, and is recorded', async () => {
    const { email, password, token, userId } = await createMember(test, tenant);
    const lost = await logIn(test, { email, password });
    expect(await statusOf(test, lost.token)).toBe(200);
    const [session] = await list(lost.token);
    const answer = await revoke(token, session!.id);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expect(await statusOf(test, lost.token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: lost.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, token)).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'auth.session_revoked');
    expect(entry).toMatchObject({ user_id: userId, resource_id: session!.id });
  });

  it('204: the current session', async () => {
    const { token } = await createMember(test, tenant);
    const [own] = await list(token);
    expect((await revoke(token, own!.id.toUpperCase())).status).toBe(204);
    expect(await statusOf(test, token)).toBe(401);
  });

  it('204: exactly one of 20 concurrent requests', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const [session] = await list((await logIn(test, { email, password })).token);
    expect(countStatuses(await inParallel(20, () => revoke(token, session!.id)))).toEqual({ 204: 1, 404: 19 });
  });

  it('400: an invalid id', async () => {
    expectError(await revoke(tenant.admin.token, 'current'), 400, 'VALIDATION_ERROR');
  });

  it('401: without a token', async () => {
    expectError(await test.call('DELETE', `${path}/${newId()}`), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: the same bytes for unknown and ended sessions, and those of other users', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const ended = await logIn(test, { email, password });
    const [endedSession] = await list(ended.token);
    await revoke(token, endedSession!.id);
    const colleague = await createMember(test, tenant);
    const stranger = await createTenant(test);
    const [ofColleague] = await list(colleague.token);
    const [ofStranger] = await list(stranger.admin.token);
    const answers = [];
    for (const id of [newId(), endedSession!.id, ofColleague!.id, ofStranger!.id])
      answers.push(await revoke(token, id));
    answers.push(await revoke(tenant.admin.token, ofColleague!.id));
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    expect(await statusOf(test, colleague.token)).toBe(200);
    expect(await statusOf(test, stranger.admin.token)).toBe(200);
  });
});
