import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditOf, comparable, post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const contacts = '/api/v1/secure/contacts';
let root: Person;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
  root = await logInSystemAdmin(test);
});

const as = (tenantId: string, token = root.token) => ({ token, headers: { 'x-tenant-id': tenantId } });

async function createContact(of: Tenant): Promise<string> {
  const answer = await test.call('POST', contacts, { token: of.admin.token, body: { firstName: 'Ada' } });
  return answer.body.data.id;
}

const idsIn = (answer: Answer): string[] => answer.body.data.map((contact: { id: string }) => contact.id);

describe('a system administrator who names a tenant', () => {
  it('sees that tenant and no other', async () => {
    const [here, there] = [await createContact(tenant), await createContact(other)];
    for (const tenantId of [tenant.tenantId, tenant.tenantId.toUpperCase()]) {
      const answer = await test.call('GET', contacts, as(tenantId));
      expect(answer.status).toBe(200);
      expect(idsIn(answer)).toEqual([here]);
    }
    expect((await test.call('GET', `${contacts}/${here}`, as(tenant.tenantId))).status).toBe(200);
    expectError(await test.call('GET', `${contacts}/${there}`, as(tenant.tenantId)), 404, 'NOT_FOUND');
    expectError(await test.call('GET', `${contacts}/${here}`, { token: root.token }), 404, 'NOT_FOUND');
  });

  it('is named in the audit trail of that tenant, with the home tenant', async () => {
    const created = await test.call('POST', contacts, { ...as(tenant.tenantId), body: { firstName: 'Grace' } });
    expect(created.status).toBe(201);
    expect(created.body.data.tenant_id).toBe(tenant.tenantId);
    const trail = await auditOf(test, tenant.admin, 'contact.created');
    const entry = trail.find((one) => one.resource_id === created.body.data.id)!;
    expect(entry.user_id).toBe(root.userId);
    expect(entry.details.actor).toEqual({ type: 'user', id: root.userId, actingFromTenantId: systemTenantId });
  });

  it('adds users there, and is recorded for that too', async () => {
    const body = { email: `${newId()}@person.example`, password: 'correct horse' };
    const created = await test.call('POST', '/api/v1/secure/users', { ...as(tenant.tenantId), body });
    expect(created.status).toBe(201);
    const login = await post(test, 'login', body);
    expect(login.body.user.tenantId).toBe(tenant.tenantId);
    const trail = await auditOf(test, tenant.admin, 'user.created');
    const entry = trail.find((one) => one.resource_id === created.body.data.id)!;
    expect(entry.details.actor).toEqual({ type: 'user', id: root.userId, actingFromTenantId: systemTenantId });
  });

  it('keeps the caller’s sessions and profile', async () => {
    const me = await test.call('GET', '/api/v1/auth/me', as(tenant.tenantId));
    expect(me.body.data).toMatchObject({ id: root.userId, tenantId: systemTenantId });
    const sessions = await test.call('GET', '/api/v1/auth/sessions', as(tenant.tenantId));
    expect(sessions.body.data.some((session: { current: boolean }) => session.current)).toBe(true);
  });

  it('404: an unknown tenant', async () => {
    const name = newId();
    const answers = [
      await test.call('GET', contacts, as(name)),
      await test.call('GET', contacts, as(name.toUpperCase())),
    ];
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('400: an invalid tenant id', async () => {
    for (const name of ['acme', '*', "' or 1=1", `${tenant.tenantId}x`, ` ${tenant.tenantId},x`, '']) {
      expectError(await test.call('GET', contacts, as(name)), 400, 'VALIDATION_ERROR');
    }
  });

  it('does not affect the next request', async () => {
    await test.call('GET', contacts, as(tenant.tenantId));
    const own = await test.call('POST', contacts, { token: root.token, body: { firstName: 'Root' } });
    expect(own.body.data.tenant_id).toBe(systemTenantId);
  });
});

describe('any other caller who names a tenant', () => {
  it('may name the caller’s tenant', async () => {
    expect((await test.call('GET', contacts, as(tenant.tenantId, tenant.admin.token))).status).toBe(200);
  });

  it('403: the same bytes for every other one, known or not', async () => {
    const member = await createMember(test, tenant);
    const answers = [];
    for (const token of [tenant.admin.token, member.token]) {
      for (const name of [other.tenantId, systemTenantId, newId(), 'acme']) {
        answers.push(await test.call('GET', contacts, as(name, token)));
      }
    }
    for (const answer of answers) expectError(answer, 403, 'AUTHORIZATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('401: without a valid token, before any other check', async () => {
    expectError(
      await test.call('GET', contacts, { headers: { 'x-tenant-id': tenant.tenantId } }),
      401,
      'AUTHENTICATION_ERROR',
    );
    expectError(await test.call('GET', contacts, as('acme', 'x')), 401, 'INVALID_TOKEN');
  });
});

describe('reduced access applies to the next request', () => {
  const patch = (userId: string, body: Record<string, unknown>) =>
    test.call('PATCH', `/api/v1/secure/users/${userId}`, { token: tenant.admin.token, body });
  const users = (token: string) => test.call('GET', '/api/v1/secure/users', { token });

  it('demotion', async () => {
    const deputy = await createMember(test, tenant, { isTenantAdmin: true });
    expect((await users(deputy.token)).status).toBe(200);
    expect((await patch(deputy.userId, { isTenantAdmin: false })).status).toBe(200);
    expectError(await users(deputy.token), 403, 'AUTHORIZATION_ERROR');
    expect(await statusOf(test, deputy.token)).toBe(200);
  });

  it('demotion by the user', async () => {
    const deputy = await createMember(test, tenant, { isTenantAdmin: true });
    const url = `/api/v1/secure/users/${deputy.userId}`;
    const change = { token: deputy.token, body: { isTenantAdmin: false } };
    expect((await test.call('PATCH', url, change)).status).toBe(200);
    expectError(await users(deputy.token), 403, 'AUTHORIZATION_ERROR');
  });

  it('suspension', async () => {
    const member = await createMember(test, tenant);
    expect(await statusOf(test, member.token)).toBe(200);
    expect((await patch(member.userId, { status: 'suspended' })).status).toBe(200);
    expect(await statusOf(test, member.token)).toBe(401);
  });

  it('deletion', async () => {
    const member = await createMember(test, tenant);
    expect(await statusOf(test, member.token)).toBe(200);
    const url = `/api/v1/secure/users/${member.userId}`;
    expect((await test.call('DELETE', url, { token: tenant.admin.token })).status).toBe(204);
    expect(await statusOf(test, member.token)).toBe(401);
    const { email, password, refreshToken } = member;
    expect((await post(test, 'refresh', { refreshToken })).status).toBe(401);
    expect((await post(test, 'login', { email, password })).status).toBe(401);
  });
});
