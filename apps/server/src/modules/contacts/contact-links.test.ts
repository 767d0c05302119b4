import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { newLinkable, type LinkableKind } from '#modules/contacts/testing/linkables';
import { createMember, createTenant, proveAddress, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const contacts = '/api/v1/secure/contacts';

let tenant: Tenant;
let other: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  other = await createTenant(test);
  // A tenant whose administrator has no verified e-mail address may only invite a few users.
  await proveAddress(test, tenant.admin.email);
  token = tenant.admin.token;
});

async function createContact(firstName = 'Ada', by = token): Promise<Record<string, any>> {
  const body = { firstName, address: { city: 'London' } };
  const answer = await test.call('POST', contacts, { token: by, body });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

/** With the minimum permissions for linking and listing. */
const kinds: [LinkableKind, string[]][] = [
  ['space', []],
  ['resource', []],
  ['user', ['users.read', 'users.manage']],
];

describe.each(kinds)('contacts of a %s', (kind, permissions) => {
  const collection = `/api/v1/secure/${kind}s`;
  let member: string;

  beforeAll(async () => {
    member = (await createMember(test, tenant, { permissions })).token;
  });

  const create = (by = token) => newLinkable(test, kind, by);
  const link = (id: string, body: unknown, by = token): Promise<Answer> =>
    test.call('POST', `${collection}/${id}/contacts`, { token: by, body });

  async function listed(id: string): Promise<Record<string, any>[]> {
    const answer = await test.call('GET', `${collection}/${id}/contacts`, { token: member });
    expect(answer.status).toBe(200);
    return answer.body.data;
  }

  describe('adding', () => {
    it('201: returns the link with the complete contact, as the list does', async () => {
      const [id, contact] = [await create(), await createContact()];
      const answer = await link(id, { contactId: contact.id }, member);
      expect(answer.status).toBe(201);
      expect(answer.body).toEqual({
        data: {
          id: expect.any(String),
          tenant_id: tenant.tenantId,
          entity_type: kind,
          entity_id: id,
          contact_id: contact.id,
          is_primary: false,
          created_at: expect.any(String),
          contact,
        },
      });
      expect(await listed(id)).toEqual([answer.body.data]);
    });

    it('201: linking again returns the existing link', async () => {
      const [id, contact] = [await create(), await createContact()];
      const first = await link(id, { contactId: contact.id, isPrimary: true });
      const again = await link(id, { contactId: contact.id.toUpperCase() });
      expect(again).toMatchObject({ status: 201, body: first.body });
      expect(await listed(id)).toHaveLength(1);
    });

    it('201: a linked contact becomes primary, and not primary again', async () => {
      const [id, contact] = [await create(), await createContact()];
      const first = await link(id, { contactId: contact.id });
      for (const isPrimary of [true, false]) {
        const changed = await link(id, { contactId: contact.id, isPrimary });
        expect(changed.body.data).toEqual({ ...first.body.data, is_primary: isPrimary });
        expect(await listed(id)).toEqual([changed.body.data]);
      }
    });

    it('201: a new primary contact replaces the previous one, for this record only', async () => {
      const [id, another] = [await create(), await create()];
      const [ada, alan] = [await createContact(), await createContact('Alan')];
      await link(another, { contactId: ada.id, isPrimary: true });
      await link(id, { contactId: ada.id, isPrimary: true });
      await link(id, { contactId: alan.id, isPrimary: true });
      const primaries = async (recordId: string) =>
        (await listed(recordId)).map((row) => [row.contact.first_name, row.is_primary]);
      expect(await primaries(id)).toEqual([
        ['Alan', true],
        ['Ada', false],
      ]);
      expect(await primaries(another)).toEqual([['Ada', true]]);
    });

    it.each([
      ['no contact', {}],
      ['a contact id that is not a uuid', { contactId: '42' }],
      ['null for the contact', { contactId: null }],
      ['text for a boolean', { contactId: newId(), isPrimary: 'true' }],
      ['an unknown property', { contactId: newId(), is_primary: true }],
      ['no body', undefined],
    ])('400: %s', async (_what, body) => {
      const id = await create();
      expectError(await link(id, body), 400, 'VALIDATION_ERROR');
    });

    it('400: a record id that is not a uuid', async () => {
      expectError(await link('42', { contactId: newId() }), 400, 'VALIDATION_ERROR');
    });

    it('401: no credentials', async () => {
      const answer = await test.call('POST', `${collection}/${newId()}/contacts`, { body: {} });
      expectError(answer, 401, 'AUTHENTICATION_ERROR');
    });

    it('404: an unknown record or contact, or one of another tenant', async () => {
      const [id, contact] = [await create(), await createContact()];
      const foreign = await create(other.admin.token);
      const foreignContact = await createContact('Theirs', other.admin.token);
      for (const recordId of [newId(), foreign]) {
        expectError(await link(recordId, { contactId: contact.id }), 404, 'NOT_FOUND');
      }
      for (const contactId of [newId(), foreignContact.id]) {
        expectError(await link(id, { contactId, isPrimary: true }), 404, 'NOT_FOUND');
      }
      expect(await listed(id)).toEqual([]);
    });
  });

  describe('listing', () => {
    it('200: the primary contact first, then in the order of linking; all, or one page', async () => {
      const id = await create();
      for (const name of ['a', 'b', 'c', 'd']) {
        const contact = await createContact(name);
        await link(id, { contactId: contact.id, isPrimary: name === 'c' });
      }
      const names = async (query: string) => {
        const answer = await test.call('GET', `${collection}/${id}/contacts${query}`, { token });
        return answer.body.data.map((row: Record<string, any>) => row.contact.first_name).join('');
      };
      expect(await names('')).toBe('cabd');
      expect(await names('?limit=2')).toBe('ca');
      expect(await names('?limit=2&offset=3')).toBe('d');
      expect(await names('?offset=1')).toBe('abd');
      expect(await names('?offset=4')).toBe('');
    });

    it.each(['limit=0', 'limit=201', 'offset=-1', 'limit=x'])('400: %s', async (query) => {
      const answer = await test.call('GET', `${collection}/${newId()}/contacts?${query}`, { token });
      expectError(answer, 400, 'VALIDATION_ERROR');
    });

    it('401: no credentials, 404: an unknown record, and one of another tenant', async () => {
      const foreign = await create(other.admin.token);
      expectError(await test.call('GET', `${collection}/${newId()}/contacts`), 401, 'AUTHENTICATION_ERROR');
      for (const id of [newId(), foreign]) {
        expectError(await test.call('GET', `${collection}/${id}/contacts`, { token }), 404, 'NOT_FOUND');
      }
    });
  });

  describe('removing', () => {
    it('204: deletes only this link; no other contact becomes primary', async () => {
      const [id, another] = [await create(), await create()];
      const [ada, alan] = [await createContact(), await createContact('Alan')];
      await link(id, { contactId: ada.id, isPrimary: true });
      for (const recordId of [another, id]) await link(recordId, { contactId: alan.id });
      await link(another, { contactId: ada.id, isPrimary: true });
      const removed = await test.call('DELETE', `${collection}/${id}/contacts/${ada.id}`, { token: member });
      expect([removed.status, removed.text]).toEqual([204, '']);
      expect((await listed(id)).map((row) => [row.contact_id, row.is_primary])).toEqual([[alan.id, false]]);
      expect((await listed(another)).map((row) => row.contact_id)).toEqual([ada.id, alan.id]);
      expect((await test.call('GET', `${contacts}/${ada.id}`, { token })).status).toBe(200);
    });

    it('400: ids that are not uuids', async () => {
      for (const path of [`42/contacts/${newId()}`, `${newId()}/contacts/42`]) {
        expectError(await test.call('DELETE', `${collection}/${path}`, { token }), 400, 'VALIDATION_ERROR');
      }
    });

    it('401: no credentials', async () => {
      const answer = await test.call('DELETE', `${collection}/${newId()}/contacts/${newId()}`);
      expectError(answer, 401, 'AUTHENTICATION_ERROR');
    });

    it('404: a contact that is not linked, removed, unknown or of another tenant', async () => {
      const [id, contact] = [await create(), await createContact()];
      const remove = (recordId: string, contactId: string, by = token) =>
        test.call('DELETE', `${collection}/${recordId}/contacts/${contactId}`, { token: by });
      expectError(await remove(id, contact.id), 404, 'NOT_FOUND');
      await link(id, { contactId: contact.id });
      expectError(await remove(id, contact.id, other.admin.token), 404, 'NOT_FOUND');
      expect((await remove(id, contact.id)).status).toBe(204);
      expectError(await remove(id, contact.id), 404, 'NOT_FOUND');
      expectError(await remove(newId(), newId()), 404, 'NOT_FOUND');
    });
  });
});
