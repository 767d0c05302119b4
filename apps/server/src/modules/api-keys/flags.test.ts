import { beforeAll, describe, expect, it } from 'vitest';

import { flagNames, type Flag } from '#core/base/access/flags';
import type { Route } from '#core/http/route';
import { allPermissions, createKey, spaces } from '#modules/api-keys/testing/keys';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';
import { routeOf, routes, urlOf } from '#test/support/registry';

const test = useService();
const contacts = '/api/v1/secure/contacts';
const users = '/api/v1/secure/users';
let tenant: Tenant;
let keys: Record<'none' | 'all' | Flag, string>;

type Records = { space: string; contact: string; linked: { space: string; contact: string }; user: string };
type Attempt = { flag: Flag; url: (own: Records) => string; body?: (own: Records) => object; status: number };

/** Operations on spaces, their contacts and users with the flag that each needs, and how they succeed. */
const attempts: Readonly<Record<string, Attempt>> = {
  listSpaces: { flag: 'spaces.read', url: () => spaces, status: 200 },
  getSpace: { flag: 'spaces.read', url: ({ space }) => `${spaces}/${space}`, status: 200 },
  createSpace: { flag: 'spaces.write', url: () => spaces, body: () => ({ name: 'Room' }), status: 201 },
  updateSpace: {
    flag: 'spaces.write',
    url: ({ space }) => `${spaces}/${space}`,
    body: () => ({ name: 'Room' }),
    status: 200,
  },
  deleteSpace: { flag: 'spaces.delete', url: ({ space }) => `${spaces}/${space}`, status: 204 },
  listSpaceContacts: { flag: 'spaces.read', url: ({ space }) => `${spaces}/${space}/contacts`, status: 200 },
  addSpaceContact: {
    flag: 'spaces.write',
    url: ({ space }) => `${spaces}/${space}/contacts`,
    body: ({ contact }) => ({ contactId: contact }),
    status: 201,
  },
  removeSpaceContact: {
    flag: 'spaces.write',
    url: ({ linked }) => `${spaces}/${linked.space}/contacts/${linked.contact}`,
    status: 204,
  },
  listUsers: { flag: 'users.read', url: () => users, status: 200 },
  getUser: { flag: 'users.read', url: ({ user }) => `${users}/${user}`, status: 200 },
};

beforeAll(async () => {
  tenant = await createTenant(test);
  const keyWith = async (permissions: object) => (await createKey(test, tenant.admin, { permissions })).fullKey;
  const entries = Object.entries(allPermissions).flatMap(([section, flags]) =>
    Object.keys(flags)
      .filter((flag) => flag !== 'properties')
      .map((flag) => [section, flag] as const),
  );
  const byFlag = entries.map(async ([section, flag]) => [
    `${section}.${flag}`,
    await keyWith({ [section]: { [flag]: true } }),
  ]);
  keys = {
    ...(Object.fromEntries(await Promise.all(byFlag)) as Record<Flag, string>),
    none: await keyWith({}),
    all: await keyWith(allPermissions),
  };
});

async function makeRecords(): Promise<Records> {
  const created = async (url: string, body: object) => {
    const answer = await test.call('POST', url, { token: tenant.admin.token, body });
    expect(answer.status).toBe(201);
    return answer.body.data.id as string;
  };
  const linked = { space: await created(spaces, { name: 'Hall' }), contact: await created(contacts, {}) };
  await created(`${spaces}/${linked.space}/contacts`, { contactId: linked.contact });
  return {
    space: await created(spaces, { name: 'Room' }),
    contact: await created(contacts, {}),
    linked,
    user: tenant.admin.userId,
  };
}

async function attempt(operationId: string, key: string) {
  const { url, body } = attempts[operationId]!;
  const own = await makeRecords();
  const { method } = routeOf(operationId);
  return test.call(method, url(own), { headers: { 'x-api-key': key }, body: body?.(own) });
}

const flagsOf = ({ access }: Route): readonly Flag[] => ('flags' in access ? (access.flags ?? []) : []);

describe('operations with flags', () => {
  it.each(Object.entries(attempts))('%s: with the flag, and with all flags', async (operationId, { flag, status }) => {
    expect((await attempt(operationId, keys[flag])).status).toBe(status);
    expect((await attempt(operationId, keys.all)).status).toBe(status);
    expectError(await attempt(operationId, keys.none), 403, 'AUTHORIZATION_ERROR');
  });

  it.each(routes.filter((route) => flagsOf(route).length > 0).map((route) => route.operationId))(
    '%s: only with the flags that it names',
    async (operationId) => {
      const route = routeOf(operationId);
      const named: readonly string[] =
        attempts[operationId] === undefined ? flagsOf(route) : [attempts[operationId].flag];
      expect(Object.keys(keys)).toHaveLength(flagNames.length + 2);
      for (const [name, key] of Object.entries(keys)) {
        // With wrong ids and body, so that an admitted request changes nothing.
        const answer = await test.call(route.method, urlOf(route, 'x'), {
          headers: { 'x-api-key': key },
          ...(route.schema.body === undefined ? {} : { body: [] }),
        });
        const isIn = answer.status !== 403;
        expect([name, isIn]).toEqual([name, name === 'all' || named.includes(name)]);
      }
    },
  );
});
