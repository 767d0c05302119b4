import { beforeAll, describe, expect, it } from 'vitest';

import { permissionNames } from '#core/base/access/permissions';
import { newId } from '#core/base/crypto/ids';
import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { appOf, create, keyOf } from '#test/support/directory';
import { createMember, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment });

// Without a provider: 200 needs none where there is nothing to translate into, and a refusal comes before anything else.
const types = ['space', 'resource', 'tag', 'category'] as const;
const collections = { space: 'spaces', resource: 'resources', tag: 'tags', category: 'categories' } as const;
const ids: Record<string, string> = {};
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenantOf(test, ['en']);
  for (const type of types) ids[type] = (await create(test, { token: tenant.admin.token }, collections[type])).id;
});

const member = (permissions: string[]) => async (): Promise<Call> => ({
  token: (await createMember(test, tenant, { permissions })).token,
});
const allOfSpaces = { read: true, write: true, delete: true };
const callers: [string, () => Promise<Call>, (typeof types)[number][]][] = [
  ['a tenant administrator', async () => ({ token: tenant.admin.token }), ['space', 'resource', 'tag', 'category']],
  ['a plain member', member([]), []],
  ['spaces.manage', member(['spaces.manage']), ['space']],
  ['resources.manage', member(['resources.manage']), ['resource']],
  ['tags.manage', member(['tags.manage']), ['tag']],
  ['all permissions', member([...permissionNames]), ['space', 'resource', 'tag']],
  ['translations.manage', member(['translations.manage']), []],
  ['a key with spaces.write', () => keyOf(test, tenant, { spaces: { write: true } }), ['space']],
  ['a key with resources.write', () => keyOf(test, tenant, { resources: { write: true } }), ['resource']],
  ['a key that reads', () => keyOf(test, tenant, { spaces: { read: true }, resources: { read: true } }), []],
  ['an app account with spaces.write', () => appOf(test, tenant, { spaces: { write: true } }), ['space']],
  [
    'an app account with all of both',
    () => appOf(test, tenant, { spaces: allOfSpaces, resources: allOfSpaces }),
    ['space', 'resource'],
  ],
  ['an app account without flags', () => appOf(test, tenant, {}), []],
];

describe.each(callers)('%s', (_, present, allowed) => {
  it(`translates: ${allowed.join(', ') || 'nothing'}`, async () => {
    const by = await present();
    for (const type of types) {
      const translate = (id: string) =>
        test.call('POST', `${path}/entity`, { ...by, body: { entity_type: type, entity_id: id } });
      if (allowed.includes(type)) {
        expect({ type, status: (await translate(ids[type]!)).status }).toEqual({ type, status: 200 });
        continue;
      }
      // Whether it exists makes no difference to who may not.
      for (const id of [ids[type]!, newId()]) expectError(await translate(id), 403, 'AUTHORIZATION_ERROR');
    }
  });
});

it('401: without a session', async () => {
  const answer = await test.call('POST', `${path}/entity`, { body: { entity_type: 'space', entity_id: ids['space'] } });
  expectError(answer, 401, 'AUTHENTICATION_ERROR');
});
