import { beforeAll, describe, expect, it } from 'vitest';

import { access } from '#core/access/access';
import { permissionNames, type Permission } from '#core/access/permissions';
import type { Route } from '#core/http/route';
import { createHttpServer } from '#core/http/server';
import { createAuthenticator } from '#modules/auth/index';
import { accessMatrix, callers, type Caller } from '#test/access-matrix';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';
import { compareTables, routeOf, routes, urlOf } from '#test/support/registry';

const test = useService();
const sessions = new Map<string, Call>();
let tenant: Tenant;
let stranger: Tenant;
let systemAdmin: string;

const malformedTokens = ['Bearer', 'Bearer not.a.token', 'Basic dXNlcjpwYXNzd29yZA==', 'Bearer a b', '\u00fc'];

beforeAll(async () => {
  tenant = await createTenant(test);
  stranger = await createTenant(test);
  systemAdmin = (await logInSystemAdmin(test)).token;
  const dead = await createMember(test, tenant);
  await test.call('POST', '/api/v1/public/auth/logout', { token: dead.token });
  sessions.set('dead session', { token: dead.token });
  sessions.set('plain member', { token: (await createMember(test, tenant)).token });
  for (const permission of permissionNames) {
    const others = permissionNames.filter((name) => name !== permission);
    sessions.set(permission, { token: (await createMember(test, tenant, { permissions: [permission] })).token });
    sessions.set(`not ${permission}`, { token: (await createMember(test, tenant, { permissions: others })).token });
  }
  const all = await createMember(test, tenant, { permissions: [...permissionNames] });
  sessions.set('all permissions', { token: all.token });
});

/** How the caller presents themselves. */
function credentials(caller: Caller, permission: Permission | undefined): Call[] {
  const naming = { 'x-tenant-id': tenant.tenantId };
  const presented: Record<Caller, Call[]> = {
    anonymous: [{}],
    'malformed token': malformedTokens.map((authorization) => ({ headers: { authorization } })),
    'dead session': [sessions.get('dead session')!],
    'plain member': [sessions.get('plain member')!],
    'member with the permission': [sessions.get(permission ?? 'all permissions')!],
    'member with every other permission': [
      sessions.get(permission === undefined ? 'all permissions' : `not ${permission}`)!,
    ],
    'tenant administrator': [{ token: tenant.admin.token }],
    'system administrator': [{ token: systemAdmin }],
    "another tenant's administrator, at home": [{ token: stranger.admin.token }],
    "another tenant's administrator, naming this tenant": [{ token: stranger.admin.token, headers: naming }],
    'system administrator, naming this tenant': [{ token: systemAdmin, headers: naming }],
  };
  return presented[caller];
}

/** A request that is wrong in every part that can be wrong: a refusal has to come first. */
function invalidCall(route: Route): { url: string; body?: string } {
  const query = route.schema.query === undefined ? '' : '?limit=-1&level=none&scope=none&tenantId=none&user_id=none';
  const url = `${urlOf(route, 'not-an-id')}${query}`;
  return route.schema.body === undefined ? { url } : { url, body: '{"no such property":' };
}

/** What is wrong with an answer, judged by the matrix alone. */
function judge(answer: Answer, isAllowed: boolean): string | undefined {
  const isRefused = answer.status === 401 || answer.status === 403;
  if (isAllowed) return isRefused ? `was refused with ${answer.status}` : undefined;
  if (!isRefused) return `was answered ${answer.status}`;
  return answer.body?.statusCode === answer.status ? undefined : 'was refused without the standard body';
}

it('has a row for every operation, and no row without one', () => {
  expect(
    compareTables(
      Object.keys(accessMatrix),
      routes.map((route) => route.operationId),
    ),
  ).toEqual([]);
});

describe.each(callers)('%s', (caller) => {
  it.each(routes.map((route) => route.operationId))('%s', async (operationId) => {
    const route = routeOf(operationId);
    const row = accessMatrix[operationId]!;
    const isAllowed = row.allowed.includes(caller);
    for (const call of credentials(caller, row.permission)) {
      const { url, ...request } = invalidCall(route);
      const answer = await test.call(route.method, url, { ...request, ...call });
      expect(judge(answer, isAllowed)).toBeUndefined();
      if (isAllowed) continue;
      const isUnknown = ['anonymous', 'malformed token', 'dead session'].includes(caller);
      expect(answer.status).toBe(isUnknown ? 401 : 403);
      if (caller === 'anonymous') expectError(answer, 401, 'AUTHENTICATION_ERROR');
    }
  });
});

describe('what the matrix cannot say', () => {
  it('a session ends for every operation at once', async () => {
    const person = await createMember(test, tenant, { permissions: [...permissionNames] });
    await test.call('POST', '/api/v1/public/auth/logout', { token: person.token });
    const answer = await test.call('GET', '/api/v1/secure/users', { token: person.token });
    expectError(answer, 401, 'INVALID_TOKEN');
  });

  it('HEAD needs what GET needs', async () => {
    for (const route of routes.filter((candidate) => candidate.method === 'GET')) {
      const response = await test.raw({ method: 'HEAD', url: urlOf(route, 'not-an-id') });
      const isPublic = accessMatrix[route.operationId]!.allowed.includes('anonymous');
      expect({ operation: route.operationId, refused: response.statusCode === 401 }).toEqual({
        operation: route.operationId,
        refused: !isPublic,
      });
    }
  });
});

describe('the gate itself', () => {
  it('notices a route without a row and a row without a route', () => {
    expect(compareTables(['login', 'gone'], ['login', 'added'])).toEqual([
      'added has no row',
      'the row gone has nothing behind it',
    ]);
  });

  it('notices an operation that lets more callers in than the matrix says, and one that lets in fewer', async () => {
    const { services } = test.service;
    const route = { ...routeOf('listUsers'), schema: { response: { 200: null } }, handler: () => undefined };
    const build = (rule: Route['access']) =>
      createHttpServer({
        modules: [{ name: 'planted', description: '', routes: [{ ...route, access: rule }] }],
        services,
        authenticate: createAuthenticator(services),
        trustedProxies: [],
        corsOrigins: [],
        bodyLimitBytes: 1024,
      });
    const judgements = async (rule: Route['access'], token: string, isAllowed: boolean) => {
      const server = await build(rule);
      const headers = { authorization: `Bearer ${token}` };
      const response = await server.inject({ method: 'GET', url: route.path, headers });
      await server.close();
      const body: unknown = response.payload === '' ? undefined : response.json();
      return judge({ status: response.statusCode, headers: {}, body, text: '' }, isAllowed);
    };
    const member = await createMember(test, tenant);
    expect(await judgements(access.member(), member.token, false)).toBe('was answered 200');
    expect(await judgements(access.systemAdmin(), tenant.admin.token, true)).toBe('was refused with 403');
  });
});
