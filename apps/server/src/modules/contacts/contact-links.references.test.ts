import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { linkableKinds, newLinkable, type LinkableKind } from '#modules/contacts/testing/linkables';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const contacts = '/api/v1/secure/contacts';

let tenant: Tenant;
let other: Tenant;
let token: string;
let member: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  other = await createTenant(test);
  token = tenant.admin.token;
  member = await createMember(test, tenant);
});

async function create(path: string, body: object): Promise<string> {
  const answer = await test.call('POST', path, { token, body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
}

const createContact = () => create(contacts, {});
const link = (kind: LinkableKind, id: string, contactId: string, isPrimary = false) =>
  create(`/api/v1/secure/${kind}s/${id}/contacts`, { contactId, isPrimary });
const change = (kind: LinkableKind, id: string, body: object) =>
  test.call('PATCH', `/api/v1/secure/${kind}s/${id}`, { token, body });

async function references(contactId: string, query = '', by = token): Promise<Record<string, any>[]> {
  const answer = await test.call('GET', `${contacts}/${contactId}/references${query}`, { token: by });
  expect(answer.status).toBe(200);
  return answer.body.data;
}

describe('listContactReferences', () => {
  it('200: spaces, resources and users of the contact, in the order of linking, with their present values', async () => {
    const contactId = await createContact();
    const space = await create('/api/v1/secure/spaces', { name: 'Hall', description: 'With a stage' });
    const resource = await newLinkable(test, 'resource', token);
    const user = (await createMember(test, tenant)).userId;
    const links = [
      await link('space', space, contactId, true),
      await link('resource', resource, contactId),
      await link('user', user, contactId, true),
    ];
    await change('resource', resource, { name: 'Renamed', description: 'On a cart', status: 'maintenance' });
    await change('user', user, { displayName: 'Grace', status: 'suspended' });
    const common = { created_at: expect.any(String) };
    const expected = [
      {
        ...common,
        id: links[0],
        entity_type: 'space',
        entity_id: space,
        entity_name: 'Hall',
        entity_description: 'With a stage',
        entity_status: 'active',
        is_primary: true,
      },
      {
        ...common,
        id: links[1],
        entity_type: 'resource',
        entity_id: resource,
        entity_name: 'Renamed',
        entity_description: 'On a cart',
        entity_status: 'maintenance',
        is_primary: false,
      },
      {
        ...common,
        id: links[2],
        entity_type: 'user',
        entity_id: user,
        entity_name: 'Grace',
        entity_description: null,
        entity_status: 'suspended',
        is_primary: true,
      },
    ];
    expect(await references(contactId)).toEqual(expected);
    expect(await references(contactId, '?limit=1&offset=1')).toEqual([expected[1]]);
    expect(await references(contactId, '?offset=2')).toEqual([expected[2]]);
  });

  it.each(linkableKinds)('200: the reference is deleted with the %s', async (kind) => {
    const [contactId, gone, kept] = [
      await createContact(),
      await newLinkable(test, kind, token),
      await newLinkable(test, kind, token),
    ];
    for (const id of [gone, kept]) await link(kind, id, contactId);
    expect((await test.call('DELETE', `/api/v1/secure/${kind}s/${gone}`, { token })).status).toBe(204);
    expect((await references(contactId)).map((row) => row.entity_id)).toEqual([kept]);
  });

  it('200: includes users whose contacts the caller may list: with users.read, and the caller', async () => {
    const contactId = await createContact();
    const space = await newLinkable(test, 'space', token);
    await link('space', space, contactId);
    for (const id of [tenant.admin.userId, member.userId]) await link('user', id, contactId);
    const reader = await createMember(test, tenant, { permissions: ['users.read'] });
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    const seenBy = async (by: string) => (await references(contactId, '', by)).map((row) => row.entity_id);
    expect(await seenBy(token)).toEqual([space, tenant.admin.userId, member.userId]);
    expect(await seenBy(reader.token)).toEqual([space, tenant.admin.userId, member.userId]);
    expect(await seenBy(member.token)).toEqual([space, member.userId]);
    expect(await seenBy(manager.token)).toEqual([space]);
  });

  it('200: an empty list for an unused contact', async () => {
    expect(await references(await createContact(), '', member.token)).toEqual([]);
  });

  it('400, 401, 404: invalid uuid, no credentials, an unknown contact, or one of another tenant', async () => {
    const id = await createContact();
    const get = (contactId: string, by?: string) =>
      test.call('GET', `${contacts}/${contactId}/references`, { token: by });
    expectError(await get('42', token), 400, 'VALIDATION_ERROR');
    expectError(await get(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await get(newId(), token), 404, 'NOT_FOUND');
    expectError(await get(id, other.admin.token), 404, 'NOT_FOUND');
  });
});
