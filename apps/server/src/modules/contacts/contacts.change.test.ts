import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, strictlyLater } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
const path = '/api/v1/secure/contacts';
const full = {
  firstName: 'Ada',
  middleName: 'King',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone: '+44 20 7946 0958',
  url: 'https://example.com/ada',
  address: { city: 'London', floor: '2' },
  notes: 'Analytical Engine',
};
const columnOf: Record<string, string> = { firstName: 'first_name', middleName: 'middle_name', lastName: 'last_name' };

let tenant: Tenant;
let token: string;
let member: Person;
let stranger: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  member = await createMember(test, tenant);
  stranger = (await createTenant(test)).admin.token;
});

async function createContact(body: Record<string, unknown> = full): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token, body });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

describe('updateContact', () => {
  it.each([
    ['firstName', 'Augusta'],
    ['middleName', ''],
    ['lastName', 'Byron'],
    ['email', 'augusta@example.com'],
    ['phone', '1'],
    ['url', 'http://localhost:1'],
    ['address', { country: 'Deutschland' }],
    ['notes', 'x'.repeat(2000)],
  ])('200: changes %s and nothing else', async (field, value) => {
    const before = await createContact();
    const changed = await test.call('PATCH', `${path}/${before.id}`, { token: member.token, body: { [field]: value } });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({
      ...before,
      [columnOf[field] ?? field]: value,
      updated_by: member.userId,
      updated_at: expect.any(String),
    });
    expect(changed.body.data.updated_at > before.created_at).toBe(true);
    expect((await test.call('GET', `${path}/${before.id}`, { token })).body).toEqual(changed.body);
  });

  it.each(Object.keys(full))('200: null clears %s', async (field) => {
    const before = await createContact();
    const changed = await test.call('PATCH', `${path}/${before.id}`, { token, body: { [field]: null } });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({
      ...before,
      [columnOf[field] ?? field]: null,
      updated_at: changed.body.data.updated_at,
    });
  });

  it('200: a search finds a changed contact by its new values', async () => {
    const { id } = await createContact({ lastName: 'Beforehand' });
    await test.call('PATCH', `${path}/${id}`, { token, body: { lastName: 'Afterwards' } });
    const found = async (search: string) =>
      (await test.call('GET', `${path}?search=${search}`, { token })).body.pagination.total;
    expect([await found('beforehand'), await found('afterwards')]).toEqual([0, 1]);
  });

  it('200: an empty patch changes nothing, including `updated_at`', async () => {
    const before = await createContact();
    const answer = await test.call('PATCH', `${path}/${before.id}`, { token: member.token, body: {} });
    expect(answer).toMatchObject({ status: 200, body: { data: before } });
  });

  it.each([
    ['an unknown property', { first_name: 'Ada' }],
    ['the id', { id: newId() }],
    ['the tenant', { tenantId: newId() }],
    ['a name of 101 characters', { lastName: 'x'.repeat(101) }],
    ['a phone of 51 characters', { phone: '1'.repeat(51) }],
    ['notes of 2001 characters', { notes: 'x'.repeat(2001) }],
    ['no e-mail address', { email: '' }],
    ['no url', { url: '' }],
    ['a list for the address', { address: ['London'] }],
    ['a wrong type', { notes: 5 }],
    ['no object', '"text"'],
    ['no JSON', '{'],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    const before = await createContact();
    expectError(await test.call('PATCH', `${path}/${before.id}`, { token, body }), 400, 'VALIDATION_ERROR');
    expect((await test.call('GET', `${path}/${before.id}`, { token })).body.data).toEqual(before);
  });

  it('400: an id that is not a uuid', async () => {
    expectError(await test.call('PATCH', `${path}/42`, { token, body: {} }), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('PATCH', `${path}/${newId()}`, { body: {} }), 401, 'AUTHENTICATION_ERROR');
  });

  it.each([{}, { notes: 'x' }])('404: an unknown id, and the id of another tenant, patched with %o', async (body) => {
    const before = await createContact();
    expectError(await test.call('PATCH', `${path}/${newId()}`, { token, body }), 404, 'NOT_FOUND');
    expectError(await test.call('PATCH', `${path}/${before.id}`, { token: stranger, body }), 404, 'NOT_FOUND');
    expect((await test.call('GET', `${path}/${before.id}`, { token })).body.data).toEqual(before);
  });
});

describe('deleteContact', () => {
  it('200: every operation then returns 404 for the contact', async () => {
    const { id } = await createContact();
    const deleted = await test.call('DELETE', `${path}/${id}`, { token: member.token });
    expect(deleted).toMatchObject({ status: 200, body: { success: true, message: expect.any(String) } });
    for (const answer of [
      await test.call('GET', `${path}/${id}`, { token }),
      await test.call('PATCH', `${path}/${id}`, { token, body: { notes: 'x' } }),
      await test.call('GET', `${path}/${id}/references`, { token }),
      await test.call('DELETE', `${path}/${id}`, { token }),
    ]) {
      expectError(answer, 404, 'NOT_FOUND');
    }
    const { body } = await test.call('GET', `${path}?limit=200`, { token });
    expect(body.data.map((contact: Record<string, any>) => contact.id)).not.toContain(id);
  });

  it('200: deletes its links', async () => {
    const { id } = await createContact();
    const space = await test.call('POST', '/api/v1/secure/spaces', { token, body: { name: 'Hall' } });
    const links = `/api/v1/secure/spaces/${space.body.data.id}/contacts`;
    expect((await test.call('POST', links, { token, body: { contactId: id } })).status).toBe(201);
    expect((await test.call('DELETE', `${path}/${id}`, { token })).status).toBe(200);
    expect((await test.call('GET', links, { token })).body).toEqual({ data: [] });
  });

  it('200: 50 concurrent requests delete once', async () => {
    const { id } = await createContact();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => test.call('DELETE', `${path}/${id}`, { token })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(49);
  });

  it('400: an id that is not a uuid', async () => {
    expectError(await test.call('DELETE', `${path}/42`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('DELETE', `${path}/${newId()}`), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: an unknown id, and the id of another tenant', async () => {
    const before = await createContact();
    expectError(await test.call('DELETE', `${path}/${newId()}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${path}/${before.id}`, { token: stranger }), 404, 'NOT_FOUND');
    expect((await test.call('GET', `${path}/${before.id}`, { token })).body.data).toEqual(before);
  });
});
