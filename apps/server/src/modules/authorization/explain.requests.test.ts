import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  unique,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';
import { routes, urlOf } from '#test/support/registry';

vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const path = '/api/v1/secure/authz/explain';
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
});

const ask = (body: unknown, call: Call = {}): Promise<Answer> =>
  test.call('POST', path, { token: tenant.admin.token, ...call, body });

const principal = () => ({ type: 'user', id: tenant.admin.userId });

/** One principal of each kind, with its credential if it has one. */
async function createPrincipals(of: Tenant): Promise<{ type: string; id: string; call?: Call }[]> {
  const { token } = of.admin;
  const member = await createMember(test, of, { permissions: ['users.read', 'spaces.manage'] });
  const group = await test.call('POST', '/api/v1/secure/groups', { token, body: { name: unique('group') } });
  const permissions = { spaces: { read: true }, users: { read: true } };
  const key = await test.call('POST', '/api/v1/secure/api-keys', { token, body: { name: 'Door', permissions } });
  const account = await createAppAccount(test, of, { permissions });
  return [
    { type: 'user', id: of.admin.userId, call: { token } },
    { type: 'user', id: member.userId, call: { token: member.token } },
    { type: 'group', id: group.body.data.id },
    { type: 'api_key', id: key.body.data.id, call: { headers: { 'x-api-key': key.body.fullKey } } },
    { type: 'app_account', id: account.id, call: { token: (await logIn(test, account)).token } },
  ];
}

describe('explainAccess: selection of the operation', () => {
  it('200: by its name', async () => {
    const { status, body } = await ask({ principal: principal(), operation: 'getSpace' });
    expect([status, body.data.operation]).toEqual([200, 'getSpace']);
  });

  it.each([
    ['GET', `/api/v1/secure/spaces/${newId()}`, 'getSpace'],
    ['GET', '/api/v1/secure/spaces/not-an-id/', 'getSpace'],
    ['GET', '/api/v1/secure/spaces?limit=5', 'listSpaces'],
    ['DELETE', `/api/v1/secure/groups/${newId()}/members/${newId()}`, 'removeGroupMember'],
    ['POST', '/api/v1/public/auth/login', 'login'],
  ])('200: by %s %s', async (method, url, operation) => {
    const { status, body } = await ask({ principal: principal(), method, path: url });
    expect([status, body.data.operation, body.data.method]).toEqual([200, operation, method]);
  });

  it.each([
    ['both ways', { operation: 'getSpace', method: 'GET', path: '/api/v1/secure/spaces/1' }],
    ['name and path', { operation: 'getSpace', path: '/api/v1/secure/spaces/1' }],
    ['name and method', { operation: 'getSpace', method: 'GET' }],
    ['neither', {}],
    ['a method only', { method: 'GET' }],
    ['a path only', { path: '/api/v1/secure/spaces/1' }],
    ['a method that no operation has', { method: 'TRACE', path: '/api/v1/secure/spaces' }],
    ['an invalid path', { method: 'GET', path: 'api/v1/secure/spaces' }],
    ['a path of 2,001 characters', { method: 'GET', path: `/${'x'.repeat(2000)}` }],
    ['a name of 101 characters', { operation: 'x'.repeat(101) }],
    ['something else', { operation: 'getSpace', tenantId: newId() }],
  ])('400: %s', async (_what, named) => {
    expectError(await ask({ principal: principal(), ...named }), 400, 'VALIDATION_ERROR');
  });

  it.each([
    ['no principal', undefined],
    ['a kind that there is not', { type: 'session', id: newId() }],
    ['no id', { type: 'user' }],
    ['no uuid', { type: 'user', id: '42' }],
    ['something else', { type: 'user', id: newId(), tenantId: newId() }],
  ])('400: %s', async (_what, who) => {
    expectError(await ask({ principal: who, operation: 'getSpace' }), 400, 'VALIDATION_ERROR');
  });

  it.each([
    ['a name', { operation: 'noSuchOperation' }],
    ['a name of 100 characters', { operation: 'x'.repeat(100) }],
    ['a name from the prototype', { operation: 'constructor' }],
    ['a path', { method: 'GET', path: '/api/v1/secure/nothing' }],
    ['a path of 2,000 characters', { method: 'GET', path: `/${'x'.repeat(1999)}` }],
    ['a path that has other methods', { method: 'PUT', path: '/api/v1/secure/spaces' }],
  ])('404: %s that there is not', async (_what, named) => {
    expectError(await ask({ principal: principal(), ...named }), 404, 'NOT_FOUND', 'OPERATION_NOT_FOUND');
  });
});

describe('explainAccess: callers and principals', () => {
  it('401 and 403, and 200 for every holder of the permission', async () => {
    const body = { principal: principal(), operation: 'getSpace' };
    expectError(await test.call('POST', path, { body }), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['users.read', 'groups.manage'] });
    expectError(await ask(body, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
    const auditor = await createMember(test, tenant, { permissions: ['authorization.read'] });
    expect((await ask(body, { token: auditor.token })).status).toBe(200);
  });

  it("404: another tenant's user, group, key and app account, like unknown ones", async () => {
    for (const { type, id } of await createPrincipals(other)) {
      for (const one of [id, newId()]) {
        const answer = await ask({ principal: { type, id: one }, operation: 'getSpace' });
        expectError(answer, 404, 'NOT_FOUND', 'PRINCIPAL_NOT_FOUND');
        expect(answer.text).not.toContain(other.domain);
      }
    }
  });

  it('404: an id of another kind, and a deleted principal', async () => {
    const mine = await createPrincipals(tenant);
    for (const { type, id } of mine)
      for (const { type: wrong } of mine.filter((one) => one.type !== type))
        expectError(await ask({ principal: { type: wrong, id }, operation: 'getSpace' }), 404, 'NOT_FOUND');
    const gone = await createMember(test, tenant);
    await test.call('DELETE', `/api/v1/secure/users/${gone.userId}`, { token: tenant.admin.token });
    const answer = await ask({ principal: { type: 'user', id: gone.userId }, operation: 'getSpace' });
    expectError(answer, 404, 'NOT_FOUND', 'PRINCIPAL_NOT_FOUND');
  });

  it('200: a system administrator asks in the named tenant', async () => {
    const { token } = await logInSystemAdmin(test);
    const body = { principal: { type: 'user', id: other.admin.userId.toUpperCase() }, operation: 'listUsers' };
    const answer = await ask(body, { token, headers: { 'x-tenant-id': other.tenantId } });
    expect(answer.body.data).toMatchObject({ allowed: true, principal: { id: other.admin.userId } });
    expectError(await ask(body, { token }), 404, 'NOT_FOUND');
  });
});

it('the explanation matches the real decision: every operation, for users, keys and app accounts', async () => {
  // The other operations have no harmless request, or answer 503 without a configured secret.
  const harmless = routes.filter(
    ({ method, schema, access }) =>
      access.kind !== 'dispatcher' && (method === 'GET' || schema.params !== undefined || schema.body),
  );
  expect(harmless.length).toBeGreaterThan(40);
  const disagreements: string[] = [];
  for (const { type, id, call } of await createPrincipals(tenant)) {
    if (call === undefined) continue;
    for (const route of harmless) {
      const { body } = await ask({ principal: { type, id }, operation: route.operationId });
      const url = `${urlOf(route, 'not-an-id')}?limit=-1&scope=none`;
      const request = route.schema.body === undefined ? {} : { body: '{"no such property":' };
      const { status } = await test.call(route.method, url, { ...request, ...call });
      const isRefused = status === 401 || status === 403;
      if (body.data.allowed === isRefused)
        disagreements.push(`${type} ${route.operationId}: ${body.data.because} and ${status}`);
    }
  }
  expect(disagreements).toEqual([]);
});
