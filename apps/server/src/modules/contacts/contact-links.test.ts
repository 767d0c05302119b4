import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const contacts = '/api/v1/secure/contacts';
const spaces = '/api/v1/secure/spaces';

let tenant: Tenant;
let other: Tenant;
let token: string;
let member: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  other = await createTenant(test);
  token = tenant.admin.token;
  member = (await createMember(test, tenant)).token;
});

async function create(path: string, body: Record<string, unknown>, by = token): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token: by, body });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

const createContact = (firstName = 'Ada') => create(contacts, { firstName, address: { city: 'London' } });
const createSpace = (name = 'Hall', description?: string) =>
  create(spaces, { name, ...(description === undefined ? {} : { description }) });
const link = (spaceId: string, body: unknown, by = token): Promise<Answer> =>
  test.call('POST', `${spaces}/${spaceId}/contacts`, { token: by, body });

async function listed(spaceId: string): Promise<Record<string, any>[]> {
  const answer = await test.call('GET', `${spaces}/${spaceId}/contacts`, { token: member });
  expect(answer.status).toBe(200);
  return answer.body.data;
}

describe('addSpaceContact', () => {
  it('201: answers the link with the whole contact, as the list does', async () => {
    const [space, contact] = [await createSpace(), await createContact()];
    const answer = await link(space.id, { contactId: contact.id }, member);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      data: {
        id: expect.any(String),
        tenant_id: tenant.tenantId,
        entity_type: 'space',
        entity_id: space.id,
        contact_id: contact.id,
        is_primary: false,
        created_at: expect.any(String),
        contact,
      },
    });
    expect(await listed(space.id)).toEqual([answer.body.data]);
  });

  it('201: again is safe and answers the link that exists', async () => {
    const [space, contact] = [await createSpace(), await createContact()];
    const first = await link(space.id, { contactId: contact.id, isPrimary: true });
    const again = await link(space.id, { contactId: contact.id.toUpperCase() });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(await listed(space.id)).toHaveLength(1);
  });

  it('201: a linked contact becomes primary, and ordinary again', async () => {
    const [space, contact] = [await createSpace(), await createContact()];
    const first = await link(space.id, { contactId: contact.id });
    for (const isPrimary of [true, false]) {
      const changed = await link(space.id, { contactId: contact.id, isPrimary });
      expect(changed.body.data).toEqual({ ...first.body.data, is_primary: isPrimary });
      expect(await listed(space.id)).toEqual([changed.body.data]);
    }
  });

  it('201: a new primary contact takes over, of this space only', async () => {
    const [space, another] = [await createSpace(), await createSpace()];
    const [ada, alan] = [await createContact(), await createContact('Alan')];
    await link(another.id, { contactId: ada.id, isPrimary: true });
    await link(space.id, { contactId: ada.id, isPrimary: true });
    await link(space.id, { contactId: alan.id, isPrimary: true });
    const primaries = async (spaceId: string) =>
      (await listed(spaceId)).map((row) => [row.contact.first_name, row.is_primary]);
    expect(await primaries(space.id)).toEqual([
      ['Alan', true],
      ['Ada', false],
    ]);
    expect(await primaries(another.id)).toEqual([['Ada', true]]);
  });

  it.each([
    ['no contact', {}],
    ['a contact id that is no uuid', { contactId: '42' }],
    ['null for the contact', { contactId: null }],
    ['text for a boolean', { contactId: newId(), isPrimary: 'true' }],
    ['an unknown property', { contactId: newId(), is_primary: true }],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    const space = await createSpace();
    expectError(await link(space.id, body), 400, 'VALIDATION_ERROR');
  });

  it('400: a space id that is no uuid', async () => {
    expectError(await link('42', { contactId: newId() }), 400, 'VALIDATION_ERROR');
  });

  it('401: without credentials', async () => {
    const answer = await test.call('POST', `${spaces}/${newId()}/contacts`, { body: {} });
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
  });

  it("404: an unknown space or contact, or another tenant's", async () => {
    const [space, contact] = [await createSpace(), await createContact()];
    const foreignSpace = await create(spaces, { name: 'Theirs' }, other.admin.token);
    const foreignContact = await create(contacts, {}, other.admin.token);
    for (const spaceId of [newId(), foreignSpace.id]) {
      expectError(await link(spaceId, { contactId: contact.id }), 404, 'NOT_FOUND');
    }
    for (const contactId of [newId(), foreignContact.id]) {
      expectError(await link(space.id, { contactId, isPrimary: true }), 404, 'NOT_FOUND');
    }
    expect(await listed(space.id)).toEqual([]);
  });
});

describe('listSpaceContacts', () => {
  it('200: the primary one first, the others in the order of linking; all, or the part asked for', async () => {
    const space = await createSpace();
    for (const name of ['a', 'b', 'c', 'd']) {
      const contact = await createContact(name);
      await link(space.id, { contactId: contact.id, isPrimary: name === 'c' });
    }
    const names = async (query: string) => {
      const answer = await test.call('GET', `${spaces}/${space.id}/contacts${query}`, { token });
      return answer.body.data.map((row: Record<string, any>) => row.contact.first_name).join('');
    };
    expect(await names('')).toBe('cabd');
    expect(await names('?limit=2')).toBe('ca');
    expect(await names('?limit=2&offset=3')).toBe('d');
    expect(await names('?offset=1')).toBe('abd');
    expect(await names('?offset=4')).toBe('');
  });

  it.each(['limit=0', 'limit=201', 'offset=-1', 'limit=x'])('400: %s', async (query) => {
    const answer = await test.call('GET', `${spaces}/${newId()}/contacts?${query}`, { token });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  it("401 without credentials, 404 for an unknown space and another tenant's", async () => {
    const foreign = await create(spaces, { name: 'Theirs' }, other.admin.token);
    expectError(await test.call('GET', `${spaces}/${newId()}/contacts`), 401, 'AUTHENTICATION_ERROR');
    for (const id of [newId(), foreign.id]) {
      expectError(await test.call('GET', `${spaces}/${id}/contacts`, { token }), 404, 'NOT_FOUND');
    }
  });
});

describe('removeSpaceContact', () => {
  it('204: only this link goes; nobody moves up to be primary', async () => {
    const space = await createSpace();
    const [ada, alan] = [await createContact(), await createContact('Alan')];
    await link(space.id, { contactId: ada.id, isPrimary: true });
    await link(space.id, { contactId: alan.id });
    const removed = await test.call('DELETE', `${spaces}/${space.id}/contacts/${ada.id}`, { token: member });
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await listed(space.id)).map((row) => [row.contact_id, row.is_primary])).toEqual([[alan.id, false]]);
    expect((await test.call('GET', `${contacts}/${ada.id}`, { token })).status).toBe(200);
  });

  it('400: ids that are no uuids', async () => {
    for (const path of [`42/contacts/${newId()}`, `${newId()}/contacts/42`]) {
      expectError(await test.call('DELETE', `${spaces}/${path}`, { token }), 400, 'VALIDATION_ERROR');
    }
  });

  it('401: without credentials', async () => {
    const answer = await test.call('DELETE', `${spaces}/${newId()}/contacts/${newId()}`);
    expectError(answer, 401, 'AUTHENTICATION_ERROR');
  });

  it("404: what is not linked, removed already, unknown or another tenant's", async () => {
    const [space, contact] = [await createSpace(), await createContact()];
    const remove = (spaceId: string, contactId: string, by = token) =>
      test.call('DELETE', `${spaces}/${spaceId}/contacts/${contactId}`, { token: by });
    expectError(await remove(space.id, contact.id), 404, 'NOT_FOUND');
    await link(space.id, { contactId: contact.id });
    expectError(await remove(space.id, contact.id, other.admin.token), 404, 'NOT_FOUND');
    expect((await remove(space.id, contact.id)).status).toBe(204);
    expectError(await remove(space.id, contact.id), 404, 'NOT_FOUND');
    expectError(await remove(newId(), newId()), 404, 'NOT_FOUND');
  });
});

describe('listContactReferences', () => {
  it('200: every space that uses the contact, as it is now; gone with the space', async () => {
    const contact = await createContact();
    const [hall, room] = [await createSpace('Hall', 'With a stage'), await createSpace('Room')];
    const first = await link(hall.id, { contactId: contact.id, isPrimary: true });
    const second = await link(room.id, { contactId: contact.id });
    await test.call('PATCH', `${spaces}/${room.id}`, { token, body: { name: 'Renamed', status: 'archived' } });
    const path = `${contacts}/${contact.id}/references`;
    const references = await test.call('GET', path, { token: member });
    const common = { entity_type: 'space', created_at: expect.any(String) };
    const inHall = {
      ...common,
      id: first.body.data.id,
      entity_id: hall.id,
      entity_name: 'Hall',
      entity_description: 'With a stage',
      entity_status: 'active',
      is_primary: true,
    };
    const inRoom = {
      ...common,
      id: second.body.data.id,
      entity_id: room.id,
      entity_name: 'Renamed',
      entity_description: null,
      entity_status: 'archived',
      is_primary: false,
    };
    expect(references).toMatchObject({ status: 200, body: { data: [inHall, inRoom] } });
    expect((await test.call('GET', `${path}?limit=1&offset=1`, { token })).body.data).toEqual([inRoom]);
    expect((await test.call('DELETE', `${spaces}/${hall.id}`, { token })).status).toBe(204);
    expect((await test.call('GET', path, { token })).body.data).toEqual([inRoom]);
  });

  it('200: nothing uses it', async () => {
    const { id } = await createContact();
    expect((await test.call('GET', `${contacts}/${id}/references`, { token })).body).toEqual({ data: [] });
  });

  it("400, 401, 404: no uuid, no credentials, an unknown contact or another tenant's", async () => {
    const { id } = await createContact();
    const get = (contactId: string, by?: string) =>
      test.call('GET', `${contacts}/${contactId}/references`, { token: by });
    expectError(await get('42', token), 400, 'VALIDATION_ERROR');
    expectError(await get(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await get(newId(), token), 404, 'NOT_FOUND');
    expectError(await get(id, other.admin.token), 404, 'NOT_FOUND');
  });
});
