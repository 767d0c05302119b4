import { beforeAll, describe, expect, it } from 'vitest';

import type { Flag } from '#core/base/access/flags';
import { newId } from '#core/base/crypto/ids';
import type { Route } from '#core/http/route';
import { auditOf } from '#modules/auth/testing/steps';
import { createAppAccount, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';
import { routeOf, routes, urlOf } from '#test/support/registry';

const test = useService();
const spaces = '/api/v1/secure/spaces';
const users = '/api/v1/secure/users';

/** The flags that the specification has for app accounts, section by section. */
const sections = {
  resources: ['read', 'write', 'delete'],
  spaces: ['read', 'write', 'delete'],
  geo: ['geocode', 'reverse_geocode'],
  calendar: ['free_busy', 'events'],
  users: ['read'],
};
const flags = Object.entries(sections).flatMap(([section, names]) => names.map((name) => `${section}.${name}` as Flag));

/** Operations for every app account: its own sessions. */
const ownSessions = ['getCurrentUser', 'listOwnSessions', 'revokeSession'];

/** Operations with the flag that each needs, by hand. */
const needed: Readonly<Record<string, Flag>> = {
  listSpaces: 'spaces.read',
  getSpace: 'spaces.read',
  createSpace: 'spaces.write',
  updateSpace: 'spaces.write',
  deleteSpace: 'spaces.delete',
  listSpaceContacts: 'spaces.read',
  addSpaceContact: 'spaces.write',
  removeSpaceContact: 'spaces.write',
  listUsers: 'users.read',
  getUser: 'users.read',
};

let tenant: Tenant;
let accounts: Record<'none' | 'all' | Flag, Person>;

beforeAll(async () => {
  tenant = await createTenant(test);
  const accountWith = async (granted: readonly Flag[]) => {
    const permissions: Record<string, Record<string, boolean>> = {};
    for (const [section, name] of granted.map((flag) => flag.split('.') as [string, string]))
      permissions[section] = { ...permissions[section], [name]: true };
    return logIn(test, await createAppAccount(test, tenant, { permissions }));
  };
  const byFlag: [string, Person][] = [];
  for (const flag of flags) byFlag.push([flag, await accountWith([flag])]);
  accounts = {
    ...(Object.fromEntries(byFlag) as Record<Flag, Person>),
    none: await accountWith([]),
    all: await accountWith(flags),
  };
});

const flagsOf = ({ access }: Route): readonly string[] => ('flags' in access ? (access.flags ?? []) : []);
/** Access to the other operations does not depend on the session. */
const guarded = routes.filter(({ access }) => !['public', 'optional', 'dispatcher', 'anyone'].includes(access.kind));

/** Whether the request is admitted; it has wrong ids and body, so that it changes nothing. */
async function whoGetsIn(route: Route): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { token }] of Object.entries(accounts)) {
    const body = route.schema.body === undefined ? {} : { body: [] };
    const answer = await test.call(route.method, urlOf(route, 'x'), { token, ...body });
    expect(answer.status).not.toBe(401);
    if (answer.status !== 403) found.push(name);
    else expectError(answer, 403, 'AUTHORIZATION_ERROR');
  }
  return found.toSorted();
}

describe('an app account has access', () => {
  it.each(Object.entries(needed))('to %s with %s, or all flags', async (operationId, flag) => {
    expect(await whoGetsIn(routeOf(operationId))).toEqual(['all', flag].toSorted());
  });

  it.each(guarded.filter((route) => flagsOf(route).length > 0).map((route) => route.operationId))(
    'to %s only with the flags that it names',
    async (operationId) => {
      const route = routeOf(operationId);
      const named = flagsOf(route).filter((flag) => flags.includes(flag as Flag));
      expect(await whoGetsIn(route)).toEqual(named.length === 0 ? [] : ['all', ...named].toSorted());
    },
  );

  it.each(ownSessions)('to %s always', async (operationId) => {
    expect(await whoGetsIn(routeOf(operationId))).toHaveLength(flags.length + 2);
  });
});

it.each(
  guarded
    .filter((route) => flagsOf(route).length === 0 && !ownSessions.includes(route.operationId))
    .map((route) => route.operationId),
)('no app account gets in to %s, with any permissions', async (operationId) => {
  expect(await whoGetsIn(routeOf(operationId))).toEqual([]);
});

describe('an app account performs the operations of its flags', () => {
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, by: Person, body?: object) =>
    test.call(method, url, { token: by.token, body });

  it('creates, reads, updates and deletes a space, as the actor in the audit trail', async () => {
    const { all } = accounts;
    const created = await call('POST', spaces, all, { name: 'Room' });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    expect((await call('GET', `${spaces}/${id}`, all)).body.data.name).toBe('Room');
    expect((await call('PATCH', `${spaces}/${id}`, all, { name: 'Hall' })).body.data.name).toBe('Hall');
    expect((await call('DELETE', `${spaces}/${id}`, all)).status).toBe(204);
    const trail = (await auditOf(test, tenant.admin, 'space.*')).filter((entry) => entry.resource_id === id);
    expect(trail).toHaveLength(3);
    for (const entry of trail)
      expect(entry).toMatchObject({ user_id: null, details: { actor: { type: 'app_account', id: all.userId } } });
  });

  it('sees nothing of another tenant', async () => {
    const stranger = await createTenant(test);
    const foreign = await call('POST', spaces, stranger.admin, { name: 'Room' });
    for (const url of [
      `${spaces}/${foreign.body.data.id}`,
      `${spaces}/${newId()}`,
      `${users}/${stranger.admin.userId}`,
    ])
      expectError(await call('GET', url, accounts.all), 404, 'NOT_FOUND');
    const headers = { 'x-tenant-id': stranger.tenantId };
    const named = await test.call('GET', spaces, { token: accounts.all.token, headers });
    expectError(named, 403, 'AUTHORIZATION_ERROR');
  });
});
