import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/contacts';
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

async function createContact(body: Record<string, unknown>): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token, body });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

describe('createContact', () => {
  it('201: keeps every field and records who created it', async () => {
    const body = {
      firstName: 'Ada',
      middleName: 'King',
      lastName: 'Lovelace',
      email: 'ada@example.com',
      phone: '+44 20 7946 0958',
      url: 'https://example.com/ada',
      address: { street: 'St James Square', street_number: '12', city: 'London', country_code: 'GB', floor: '2' },
      notes: 'Analytical Engine',
    };
    const contact = await createContact(body);
    expect(contact).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      first_name: 'Ada',
      middle_name: 'King',
      last_name: 'Lovelace',
      email: body.email,
      phone: body.phone,
      url: body.url,
      address: body.address,
      notes: body.notes,
      created_at: expect.any(String),
      updated_at: contact.created_at,
      created_by: tenant.admin.userId,
      updated_by: tenant.admin.userId,
    });
    const read = await test.call('GET', `${path}/${contact.id}`, { token });
    expect(read.body).toEqual({ data: contact });
  });

  it('201: all fields are optional', async () => {
    expect((await createContact({})).first_name).toBeNull();
  });

  it.each([
    ['names of 100 characters', { firstName: 'é'.repeat(100), middleName: '𝕏'.repeat(100), lastName: 'x'.repeat(100) }],
    ['empty names', { firstName: '', middleName: '', lastName: '' }],
    ['notes of 2000 characters', { notes: 'x'.repeat(2000) }],
    ['a phone of 50 characters', { phone: '1'.repeat(50) }],
    ['a url of 2048 characters', { url: `https://example.com/${'x'.repeat(2028)}` }],
    ['an address with nulls and additional keys', { address: { city: null, floor: 2, lift: true, door: 'left' } }],
    ['an empty address', { address: {} }],
    ['an address of 16,384 bytes', { address: { k: 'x'.repeat(16_376) } }],
    ['an address with any JSON in it', { address: { door: { codes: [1, null, { a: true }] } } }],
    ['a link to mail', { url: 'mailto:ada@example.com' }],
    ['text that looks like something else', { firstName: "'); drop table contacts;--", notes: '{"a":[1]} \\ \n $1' }],
  ])('201: %s', async (_what, body: Record<string, unknown>) => {
    const contact = await createContact(body);
    const columns: Record<string, string> = {
      firstName: 'first_name',
      middleName: 'middle_name',
      lastName: 'last_name',
    };
    for (const [name, value] of Object.entries(body)) expect(contact[columns[name] ?? name]).toEqual(value);
    expect((await test.call('GET', `${path}/${contact.id}`, { token })).body.data).toEqual(contact);
  });

  it.each([
    ['an unknown property', { firstname: 'Ada' }],
    ['a wrong type', { firstName: 5 }],
    ['null, which only a patch takes', { firstName: null }],
    ['a name of 101 characters', { firstName: 'x'.repeat(101) }],
    ['notes of 2001 characters', { notes: 'x'.repeat(2001) }],
    ['a phone of 51 characters', { phone: '1'.repeat(51) }],
    ['an invalid e-mail address', { email: 'ada@' }],
    ['a url without a host', { url: 'https://' }],
    ['a script as url', { url: 'javascript:alert(1)' }],
    ['an url of 2049 characters', { url: `https://example.com/${'x'.repeat(2029)}` }],
    ['an array for the address', { address: [] }],
    ['a city of 201 characters', { address: { city: 'x'.repeat(201) } }],
    ['a number for the city', { address: { city: 5 } }],
    ['a NUL character', { notes: 'a\u0000b' }],
    ['half of a surrogate pair', '{"notes":"\\ud800"}'],
    ['an address of 16,385 bytes', { address: { k: 'x'.repeat(16_377) } }],
    ['an address of few bytes and many digits', { address: { k: Array.from({ length: 60 }, () => 1e300) } }],
    ['a link that runs code', { url: 'JavaScript:alert(1)' }],
    ['no body', undefined],
    ['a list', []],
  ])('400: %s', async (_what, body) => {
    expectError(await test.call('POST', path, { token, body }), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('POST', path, { body: {} }), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('getContact', () => {
  it('200: accepts an id in upper case', async () => {
    const contact = await createContact({ firstName: 'Ada' });
    const read = await test.call('GET', `${path}/${contact.id.toUpperCase()}`, { token });
    expect(read.body).toEqual({ data: contact });
  });

  it('401: no credentials', async () => {
    expectError(await test.call('GET', `${path}/${newId()}`), 401, 'AUTHENTICATION_ERROR');
  });

  it('400: an id that is not a uuid', async () => {
    expectError(await test.call('GET', `${path}/42`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('404: an unknown id', async () => {
    expectError(await test.call('GET', `${path}/${newId()}`, { token }), 404, 'NOT_FOUND');
  });

  it('404: a contact of another tenant, with the same answer as an unknown one', async () => {
    const contact = await createContact({ firstName: 'Ada' });
    const stranger = (await createTenant(test)).admin.token;
    const foreign = await test.call('GET', `${path}/${contact.id}`, { token: stranger });
    const unknown = await test.call('GET', `${path}/${newId()}`, { token: stranger });
    expectError(foreign, 404, 'NOT_FOUND');
    expect({ ...foreign.body, requestId: '', timestamp: '' }).toEqual({
      ...unknown.body,
      requestId: '',
      timestamp: '',
    });
  });
});
