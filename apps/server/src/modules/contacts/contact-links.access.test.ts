import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { newLinkable } from '#modules/contacts/testing/linkables';
import { appOf, keyOf, trailOf } from '#test/support/directory';
import { createMember, createTenant, joinTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();

let tenant: Tenant;
let admin: Call;
let ada: Person;
let alan: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  ada = await createMember(test, tenant);
  alan = await createMember(test, tenant);
});

async function createContact(): Promise<string> {
  const answer = await test.call('POST', '/api/v1/secure/contacts', { ...admin, body: {} });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
}

const contactsOf = (userId: string) => `/api/v1/secure/users/${userId}/contacts`;

/** The answers of listing, adding and removing. */
async function statusesOf(url: string, by: Call): Promise<number[]> {
  const contactId = await createContact();
  const listed = await test.call('GET', url, by);
  const added = await test.call('POST', url, { ...by, body: { contactId } });
  const removed = await test.call('DELETE', `${url}/${contactId}`, by);
  return [listed.status, added.status, removed.status];
}

describe('contacts of a user', () => {
  it('are accessible to the user, with their id in any case', async () => {
    const by = { token: ada.token };
    expect(await statusesOf(contactsOf(ada.userId), by)).toEqual([200, 201, 204]);
    expect(await statusesOf(contactsOf(ada.userId.toUpperCase()), by)).toEqual([200, 201, 204]);
  });

  it('are accessible to other users with users.read (read) and users.manage (change)', async () => {
    const holder = async (...permissions: string[]) => ({
      token: (await createMember(test, tenant, { permissions })).token,
    });
    expect(await statusesOf(contactsOf(ada.userId), admin)).toEqual([200, 201, 204]);
    expect(await statusesOf(contactsOf(ada.userId), await holder('users.read'))).toEqual([200, 403, 403]);
    expect(await statusesOf(contactsOf(ada.userId), await holder('users.manage'))).toEqual([403, 201, 204]);
  });

  it('are readable for keys and app accounts with users.read', async () => {
    for (const machine of [keyOf, appOf]) {
      const reader = await machine(test, tenant, { users: { read: true } });
      expect(await statusesOf(contactsOf(ada.userId), reader)).toEqual([200, 403, 403]);
      const writer = await machine(test, tenant, { spaces: { write: true }, resources: { write: true } });
      expect(await statusesOf(contactsOf(ada.userId), writer)).toEqual([403, 403, 403]);
    }
  });

  it('403: of another user, whether they exist or not', async () => {
    const by = { token: alan.token };
    for (const id of [ada.userId, newId()]) expect(await statusesOf(contactsOf(id), by)).toEqual([403, 403, 403]);
    const refused = await test.call('GET', contactsOf(ada.userId), by);
    expectError(refused, 403, 'AUTHORIZATION_ERROR');
    expect(refused.body.details).toMatchObject({ required: expect.stringContaining('users.read') });
    expect((await test.call('GET', contactsOf(ada.userId), admin)).body.data).toEqual([]);
  });

  it('404: of a former user of the tenant, also with the id of their other membership', async () => {
    const gone = (await createMember(test, tenant)).userId;
    const elsewhere = await createTenant(test);
    const theirs = await joinTenant(test, elsewhere, ada);
    await test.call('DELETE', `/api/v1/secure/users/${gone}`, admin);
    for (const id of [gone, theirs, newId()]) {
      expect(await statusesOf(contactsOf(id), admin)).toEqual([404, 404, 404]);
    }
  });

  it('are unlinked when the user is deleted, and when an invitation is declined', async () => {
    const { database } = test.service.services;
    const rows = (userId: string) =>
      database.tenant(tenant.tenantId).all({
        kind: 'read',
        text: 'select id from contact_links where tenant_id = $1 and entity_id = $2',
        values: [tenant.tenantId, userId],
        prepare: false,
      });
    const guest = (await createTenant(test)).admin;
    await joinTenant(test, await createTenant(test), guest);
    const body = { email: guest.email };
    const invited = await test.call('POST', '/api/v1/secure/users/invite', { ...admin, body });
    const [deleted, declined] = [await newLinkable(test, 'user', tenant.admin.token), invited.body.data.id as string];
    for (const id of [deleted, declined, ada.userId]) {
      await test.call('POST', contactsOf(id), { ...admin, body: { contactId: await createContact() } });
      expect(await rows(id)).toHaveLength(1);
    }
    expect((await test.call('DELETE', `/api/v1/secure/users/${deleted}`, admin)).status).toBe(204);
    const path = `/api/v1/auth/invitations/${declined}/decline`;
    expect((await test.call('POST', path, { token: guest.token })).status).toBe(204);
    expect([await rows(deleted), await rows(declined)]).toEqual([[], []]);
    expect(await rows(ada.userId)).toHaveLength(1);
  });

  it('are recorded with the actor and the user', async () => {
    const contactId = await createContact();
    const by = { token: alan.token };
    const added = await test.call('POST', contactsOf(alan.userId), { ...by, body: { contactId } });
    await test.call('DELETE', `${contactsOf(alan.userId)}/${contactId}`, by);
    const details = expect.objectContaining({ userId: alan.userId, contactId });
    expect(await trailOf(test, tenant.tenantId, added.body.data.id)).toEqual([
      { action: 'user_contact.added', user_id: alan.userId, details },
      { action: 'user_contact.removed', user_id: alan.userId, details },
    ]);
  });
});

describe.each(['space', 'resource'] as const)('contacts of a %s', (kind) => {
  it('are accessible to every member, and to keys and app accounts with the flag of the record', async () => {
    const url = `/api/v1/secure/${kind}s/${await newLinkable(test, kind, tenant.admin.token)}/contacts`;
    expect(await statusesOf(url, { token: ada.token })).toEqual([200, 201, 204]);
    for (const machine of [keyOf, appOf]) {
      const [read, write] = [
        await machine(test, tenant, { [`${kind}s`]: { read: true } }),
        await machine(test, tenant, { [`${kind}s`]: { write: true }, users: { read: true } }),
      ];
      expect(await statusesOf(url, read)).toEqual([200, 403, 403]);
      expect(await statusesOf(url, write)).toEqual([403, 201, 204]);
    }
  });
});

it('a contact can be primary for several records of different kinds', async () => {
  const contactId = await createContact();
  const urls = [
    `/api/v1/secure/spaces/${await newLinkable(test, 'space', tenant.admin.token)}/contacts`,
    `/api/v1/secure/resources/${await newLinkable(test, 'resource', tenant.admin.token)}/contacts`,
    contactsOf(await newLinkable(test, 'user', tenant.admin.token)),
  ];
  for (const url of urls) await test.call('POST', url, { ...admin, body: { contactId, isPrimary: true } });
  for (const url of urls) {
    const listed = await test.call('GET', url, admin);
    expect(listed.body.data).toMatchObject([{ contact_id: contactId, is_primary: true }]);
  }
});
