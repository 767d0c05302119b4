import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, strictlyLater } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
const path = '/api/v1/secure/spaces';
let tenant: Tenant;
let token: string;
let stranger: string;
let member: Person;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  stranger = (await createTenant(test)).admin.token;
  member = await createMember(test, tenant);
  manager = await createMember(test, tenant, { permissions: ['spaces.manage'] });
});

async function createSpace(body: Record<string, unknown> = {}, by = token): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token: by, body: { name: 'Hall', ...body } });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

const patch = (id: string, body: unknown, by = token) => test.call('PATCH', `${path}/${id}`, { token: by, body });
const read = async (id: string): Promise<Record<string, any>> =>
  (await test.call('GET', `${path}/${id}`, { token })).body.data;

/** Creates a chain of nested spaces; returns the ids from the root down. */
async function createLine(length: number): Promise<string[]> {
  const ids: string[] = [];
  for (let depth = 0; depth < length; depth++) ids.push((await createSpace({ parent_id: ids.at(-1) ?? null })).id);
  return ids;
}

const full = {
  description: 'First floor',
  translations_i18n: { de: { name: 'Saal' }, fr: { name: 'Salle' } },
  capacity: 12,
  address: { city: 'Berlin' },
  geo: { lat: 52.52, lng: 13.405 },
  timezone: 'Europe/Berlin',
  properties: { projector: true },
};

describe('updateSpace', () => {
  const changes: [string, unknown][] = [
    ['name', 'Renamed'],
    ['description', ''],
    ['translations_i18n', { de: { name: 'Halle', description: null }, fr: {} }],
    ['capacity', 0],
    ['address', { country: 'DE' }],
    ['geo', { lat: 0, lng: 0 }],
    ['timezone', 'Asia/Kathmandu'],
    ['status', 'archived'],
    ['properties', {}],
    ...['description', 'capacity', 'address', 'geo', 'timezone'].map((field): [string, unknown] => [field, null]),
  ];
  it.each(changes)('200: %s becomes %j; other fields keep their values', async (field, value) => {
    const before = await createSpace(full);
    const changed = await patch(before.id, { [field]: value }, manager.token);
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({
      ...before,
      [field]: value,
      updated_by: manager.userId,
      updated_at: expect.any(String),
    });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    expect(await read(before.id)).toEqual(changed.body.data);
  });

  it('200: an empty patch changes nothing, including `updated_at`', async () => {
    const before = await createSpace(full);
    expect(await patch(before.id, {}, manager.token)).toMatchObject({ status: 200, body: { data: before } });
  });

  it('200: moves below another space, and back to the root', async () => {
    const [space, parent] = [await createSpace(), await createSpace()];
    expect((await patch(space.id, { parent_id: parent.id })).body.data.parent_id).toBe(parent.id);
    expect((await patch(space.id, { parent_id: parent.id, name: 'Same place' })).body.data).toMatchObject({
      parent_id: parent.id,
      name: 'Same place',
    });
    expect((await patch(space.id, { parent_id: null })).body.data.parent_id).toBeNull();
  });

  it('200: moves up and sideways within its own branch', async () => {
    const [top, , low] = await createLine(3);
    expect((await patch(low!, { parent_id: top })).status).toBe(200);
  });

  it.each([
    ['an empty name', { name: '' }],
    ['null for the name', { name: null }],
    ['null for the status', { status: null }],
    ['null for translations', { translations_i18n: null }],
    ['null for an invalid language code', { translations_i18n: { deu: null } }],
    ['null for properties', { properties: null }],
    ['an unknown status', { status: 'deleted' }],
    ['an unknown zone', { timezone: 'Mars/Base' }],
    ['an offset for the zone', { timezone: '+02:00' }],
    ['a position without longitude', { geo: { lat: 1 } }],
    ['a fraction of a seat', { capacity: 0.5 }],
    ['a parent that is not a uuid', { parent_id: 'top' }],
    ['an unknown property', { tenant_id: newId() }],
    ['no object', []],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    const before = await createSpace(full);
    expectError(await patch(before.id, body), 400, 'VALIDATION_ERROR');
    expect(await read(before.id)).toEqual(before);
  });

  it('401: no credentials, 403 for a member without permissions', async () => {
    const { id } = await createSpace();
    expectError(await test.call('PATCH', `${path}/${id}`, { body: {} }), 401, 'AUTHENTICATION_ERROR');
    expectError(await patch(id, { name: 'Mine' }, member.token), 403, 'AUTHORIZATION_ERROR');
  });

  it.each([{}, { name: 'x' }, { parent_id: null }])(
    '404: an unknown id, and the id of another tenant, %j',
    async (body) => {
      const before = await createSpace();
      expectError(await patch(newId(), body), 404, 'NOT_FOUND');
      expectError(await patch(before.id, body, stranger), 404, 'NOT_FOUND');
      expect(await read(before.id)).toEqual(before);
    },
  );

  it('404: a parent that is unknown or of another tenant', async () => {
    const [before, foreign] = [await createSpace(), await createSpace({}, stranger)];
    for (const parentId of [newId(), foreign.id]) {
      expectError(await patch(before.id, { parent_id: parentId }), 404, 'NOT_FOUND', 'PARENT_NOT_FOUND');
    }
    expectError(await patch(newId(), { parent_id: before.id }), 404, 'NOT_FOUND');
    expect(await read(before.id)).toEqual(before);
  });

  it('409: into itself, into its child, into a distant descendant', async () => {
    const line = await createLine(12);
    const before = await read(line[0]!);
    for (const parentId of [line[0]!, line[0]!.toUpperCase(), line[1]!, line[11]!]) {
      expectError(await patch(line[0]!, { parent_id: parentId, name: 'Moved' }), 409, 'CONFLICT', 'SPACE_CYCLE');
    }
    expect(await read(line[0]!)).toEqual(before);
  });
});

describe('deleteSpace', () => {
  it('204: deletes the space and its links', async () => {
    const { id } = await createSpace();
    const contact = await test.call('POST', '/api/v1/secure/contacts', { token, body: {} });
    await test.call('POST', `${path}/${id}/contacts`, { token, body: { contactId: contact.body.data.id } });
    const deleted = await test.call('DELETE', `${path}/${id}`, { token: manager.token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE'] as const) {
      expectError(await test.call(method, `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    }
    expectError(await patch(id, { name: 'x' }), 404, 'NOT_FOUND');
    const references = await test.call('GET', `/api/v1/secure/contacts/${contact.body.data.id}/references`, { token });
    expect(references.body).toEqual({ data: [] });
  });

  it('400, 401, 403: invalid uuid, no credentials, a member without permissions', async () => {
    const { id } = await createSpace();
    expectError(await test.call('DELETE', `${path}/42`, { token }), 400, 'VALIDATION_ERROR');
    expectError(await test.call('DELETE', `${path}/${id}`), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('DELETE', `${path}/${id}`, { token: member.token }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown id, and the id of another tenant', async () => {
    const { id } = await createSpace();
    expectError(await test.call('DELETE', `${path}/${newId()}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${path}/${id}`, { token: stranger }), 404, 'NOT_FOUND');
    expect((await read(id)).id).toBe(id);
  });

  it('409: while it has children', async () => {
    const [top, low] = (await createLine(2)) as [string, string];
    expectError(await test.call('DELETE', `${path}/${top}`, { token }), 409, 'CONFLICT', 'SPACE_HAS_CHILDREN');
    expect((await test.call('DELETE', `${path}/${low}`, { token })).status).toBe(204);
    expect((await test.call('DELETE', `${path}/${top}`, { token })).status).toBe(204);
  });
});
