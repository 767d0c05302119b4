import { beforeAll, describe, expect, it } from 'vitest';

import { access } from '#core/base/access/access';
import { AppAccountPermissions, flagNames, type Flag } from '#core/base/access/flags';
import { permissionNames } from '#core/base/access/permissions';
import type { Route } from '#core/http/route';
import { createHttpServer } from '#core/http/server';
import { accessMatrix, callers, strangers, type Caller } from '#test/access-matrix';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';
import { compareTables, routeOf, routes, urlOf } from '#test/support/registry';
import { refusalOf } from '#test/support/rpc';

const test = useService({ environment: { DISPATCHER_SECRET: 'unknown to the callers in these tests' } });
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
  await createSessionsInOddStates();
  for (const flags of flagSets()) {
    sessions.set(`API key ${nameOf(flags)}`, await createKey(flags));
    sessions.set(`app account ${nameOf(flags)}`, await createApp(flags));
  }
}, 180_000);

async function createSessionsInOddStates(): Promise<void> {
  const { database } = test.service.services;
  const createAdmin = (of: Tenant) => createMember(test, of, { isTenantAdmin: true });
  const present = (caller: Caller, { token }: Person) => sessions.set(caller, { token });

  const suspended = await createMember(test, tenant, { permissions: [...permissionNames] });
  const url = `/api/v1/secure/users/${suspended.userId}`;
  await test.call('PATCH', url, { token: tenant.admin.token, body: { status: 'suspended' } });
  present('suspended member', suspended);

  const incomplete = await createAdmin(tenant);
  const account = 'select account_id from users where tenant_id = $1 and id = $2';
  await database.credential(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
           values ((${account}), 'totp', now(), now())`,
    values: [tenant.tenantId, incomplete.userId],
    prepare: false,
  });
  present('session without its second factor', await logIn(test, incomplete));

  const strict = await createTenant(test);
  await database.tenant(strict.tenantId).interactive.all({
    kind: 'write',
    text: `update tenants set settings = '{"twoFactorRequiredFrom": "2026-01-01T00:00:00.000Z"}' where id = $1`,
    values: [strict.tenantId],
    prepare: false,
  });
  present('session that has to enrol a second factor', await logIn(test, strict.admin));

  const vouched = await createAdmin(tenant);
  await database.credential(tenant.tenantId).interactive.all({
    kind: 'write',
    text: 'update sessions set account_wide = false where tenant_id = $1 and user_id = $2',
    values: [tenant.tenantId, vouched.userId],
    prepare: false,
  });
  present('session vouched for by one tenant only', vouched);
}

/** Sets of flags that the callers of the matrix hold: none, all, those of each row, and all others. */
function flagSets(): (readonly Flag[])[] {
  const inRows = Object.values(accessMatrix).flatMap(({ flags = [] }) => [
    ...flags.map((flag) => [flag]),
    others(flags),
  ]);
  return [...new Map([[], flagNames, ...inRows].map((flags) => [nameOf(flags), flags])).values()];
}

const others = (flags: readonly Flag[]) => flagNames.filter((flag) => !flags.includes(flag));
const nameOf = (flags: readonly Flag[]) => flags.toSorted().join(' ');

function permissionsOf(flags: readonly Flag[]): Record<string, Record<string, true>> {
  const permissions: Record<string, Record<string, true>> = {};
  for (const name of flags) {
    const [section, flag] = name.split('.') as [string, string];
    permissions[section] = { ...permissions[section], [flag]: true };
  }
  return permissions;
}

async function createKey(flags: readonly Flag[]): Promise<Call> {
  const body = { name: 'Door', permissions: permissionsOf(flags) };
  const created = await test.call('POST', '/api/v1/secure/api-keys', { token: tenant.admin.token, body });
  expect(created).toMatchObject({ status: 201 });
  return { headers: { 'x-api-key': created.body.fullKey } };
}

/** With those of the flags that app accounts can have. */
async function createApp(flags: readonly Flag[]): Promise<Call> {
  const possible = flags.filter((flag) => (flag.split('.')[0] as string) in AppAccountPermissions.properties);
  const account = await createAppAccount(test, tenant, { permissions: permissionsOf(possible) });
  return { token: (await logIn(test, account)).token };
}

/** How the caller presents themselves. */
function credentials(caller: Caller, { permission, flags = [] }: (typeof accessMatrix)[string]): Call[] {
  const naming = { 'x-tenant-id': tenant.tenantId };
  const session = (name: string) => [sessions.get(name)!];
  const machine = (kind: 'API key' | 'app account'): Partial<Record<Caller, Call[]>> => ({
    [`${kind} without flags`]: session(`${kind} ${nameOf([])}`),
    [`${kind} with the flag`]: (flags.length === 0 ? [flagNames] : flags.map((flag) => [flag])).flatMap((held) =>
      session(`${kind} ${nameOf(held)}`),
    ),
    [`${kind} with every other flag`]: session(`${kind} ${nameOf(others(flags))}`),
    [`${kind} with every flag`]: session(`${kind} ${nameOf(flagNames)}`),
  });
  const presented: Partial<Record<Caller, Call[]>> = {
    anonymous: [{}],
    'malformed token': malformedTokens.map((authorization) => ({ headers: { authorization } })),
    'member with the permission': session(permission ?? 'all permissions'),
    'member with every other permission': session(permission === undefined ? 'all permissions' : `not ${permission}`),
    'tenant administrator': [{ token: tenant.admin.token }],
    'system administrator': [{ token: systemAdmin }],
    "another tenant's administrator, at home": [{ token: stranger.admin.token }],
    "another tenant's administrator, naming this tenant": [{ token: stranger.admin.token, headers: naming }],
    'system administrator, naming this tenant': [{ token: systemAdmin, headers: naming }],
    ...machine('API key'),
    ...machine('app account'),
  };
  return presented[caller] ?? session(caller);
}

/** A request that is wrong in every part that can be wrong: a refusal has to come first. */
function invalidCall(route: Route): { url: string; body?: string } {
  const query = route.schema.query === undefined ? '' : '?limit=-1&level=none&scope=none&tenantId=none&user_id=none';
  const url = `${urlOf(route, 'not-an-id')}${query}`;
  return route.schema.body === undefined ? { url } : { url, body: '{"no such property":' };
}

/** What is wrong with an answer, judged by the matrix alone. */
function judge(answer: Answer, isAllowed: boolean, isBrief = false): string | undefined {
  const isRefused = answer.status === 401 || answer.status === 403;
  if (isAllowed && answer.status >= 500) return `failed with ${answer.status}`;
  if (isAllowed) return isRefused ? `was refused with ${answer.status}` : undefined;
  if (!isRefused) return `was answered ${answer.status}`;
  const { error, message, statusCode } = answer.body ?? {};
  const isAnswered = isBrief ? Boolean(error && message) : statusCode === answer.status;
  return isAnswered ? undefined : 'was refused without the standard body';
}

it('has a row for every operation, and no row without one', () => {
  const problems = compareTables(
    Object.keys(accessMatrix),
    routes.map((route) => route.operationId),
  );
  expect(problems, 'apps/server/test/access-matrix.ts').toEqual([]);
});

describe.each(callers)('%s', (caller) => {
  const named = routes.filter(({ operationId }) => operationId in accessMatrix);
  it.each(named.map((route) => route.operationId))('%s', async (operationId) => {
    const route = routeOf(operationId);
    const row = accessMatrix[operationId]!;
    const isAllowed = row.allowed.includes(caller);
    for (const call of credentials(caller, row)) {
      const { url, ...request } = invalidCall(route);
      const answered = await test.call(route.method, url, { ...request, ...call });
      const answer = { ...answered, body: refusalOf(route, answered.body) };
      expect(judge(answer, isAllowed, route.hasBriefErrors)).toBeUndefined();
      if (isAllowed) continue;
      expect(answer.status).toBe(strangers.includes(caller) || row.needsSecret === true ? 401 : 403);
      if (caller === 'anonymous' && !route.hasBriefErrors) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    }
  });
});

describe('the whole matrix', () => {
  const reachable = (caller: Caller) =>
    Object.keys(accessMatrix).filter((operation) => {
      const { allowed } = accessMatrix[operation]!;
      return allowed.includes(caller) && !allowed.includes('anonymous');
    });

  it('a session without its second factor reaches only the second factors and getCurrentUser', () => {
    const factors = ['getTwoFactorStatus', 'sendTwoFactorCode', 'useBackupCode', 'verifyTwoFactor'];
    expect(reachable('session without its second factor').toSorted()).toEqual(['getCurrentUser', ...factors]);
    expect(reachable('session that has to enrol a second factor').toSorted()).toEqual([
      'enableTwoFactor',
      'getCurrentUser',
      ...factors,
    ]);
  });

  it('API keys and app accounts reach no accounts, credentials, administration and system operations', () => {
    const closed =
      /^\/api\/v1\/(auth\/|system\/|secure\/(auth\/|api-keys|app-accounts|groups|tenants|audit-logs|authz|ai\/providers|identity-providers))/;
    const own = ['getCurrentUser', 'listOwnSessions', 'revokeSession'];
    for (const operation of reachable('API key with every flag'))
      expect({ operation, path: routeOf(operation).path }).not.toMatchObject({ path: expect.stringMatching(closed) });
    for (const operation of reachable('app account with every flag').filter((name) => !own.includes(name)))
      expect({ operation, path: routeOf(operation).path }).not.toMatchObject({ path: expect.stringMatching(closed) });
    expect(reachable('API key without flags')).toEqual([]);
    expect(reachable('app account without flags').toSorted()).toEqual(own);
  });

  it('API keys and app accounts can only read users', () => {
    const users = (caller: Caller) =>
      reachable(caller).filter((operation) => routeOf(operation).path.startsWith('/api/v1/secure/users'));
    for (const caller of ['API key with every flag', 'app account with every flag'] as const)
      expect(users(caller).toSorted()).toEqual(['getUser', 'listUserContacts', 'listUsers']);
  });
});

describe('in addition to the matrix', () => {
  it('a session that ends is refused by every operation at once', async () => {
    const person = await createMember(test, tenant, { permissions: [...permissionNames] });
    await test.call('POST', '/api/v1/public/auth/logout', { token: person.token });
    const answer = await test.call('GET', '/api/v1/secure/users', { token: person.token });
    expectError(answer, 401, 'INVALID_TOKEN');
  });

  it('HEAD requires the same access as GET', async () => {
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
  it('finds a route without a row and a row without a route', () => {
    expect(compareTables(['login', 'gone'], ['login', 'added'])).toEqual([
      'added has no row: write who may call it',
      'the row gone has nothing behind it',
    ]);
  });

  it('finds an operation that admits more or fewer callers than the matrix', async () => {
    const { services } = test.service;
    const route = { ...routeOf('listUsers'), schema: { response: { 200: null } }, handler: () => undefined };
    const build = (rule: Route['access']) =>
      createHttpServer({
        modules: [{ name: 'planted', description: '', routes: [{ ...route, access: rule }] }],
        services,
        authenticate: test.service.authenticate,
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
