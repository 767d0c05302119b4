import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/spaces';
let tenant: Tenant;
let token: string;
let stranger: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  stranger = (await createTenant(test)).admin.token;
});

async function createSpace(body: Record<string, unknown> = {}, by = token): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token: by, body: { name: 'Hall', ...body } });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

const languages = (count: number, value: unknown) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      String.fromCodePoint(97 + Math.floor(at / 26)) + String.fromCodePoint(97 + (at % 26)),
      value,
    ]),
  );

/** Translations whose JSON has exactly the given number of bytes. */
function translationsOf(bytes: number): Record<string, { description: string }> {
  const full = languages(6, { description: 'x'.repeat(5000) });
  const rest = bytes - JSON.stringify({ ...full, zz: { description: '' } }).length;
  return { ...full, zz: { description: 'x'.repeat(rest) } };
}

describe('createSpace', () => {
  it('201: keeps every field and records who created it', async () => {
    const parent = await createSpace();
    const fields = {
      parent_id: parent.id,
      type_id: null,
      name: 'Room 1',
      description: 'First floor',
      translations_i18n: { de: { name: 'Raum 1', description: null }, fr: {} },
      capacity: 12,
      address: { city: 'Berlin', floor: '1' },
      geo: { lat: 52.52, lng: 13.405 },
      timezone: 'Europe/Berlin',
      status: 'maintenance',
      properties: { projector: true, seats: [1, 2], nested: { a: null } },
    };
    const space = await createSpace(fields);
    expect(space).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      ...fields,
      created_at: expect.any(String),
      updated_at: space.created_at,
      created_by: tenant.admin.userId,
      updated_by: tenant.admin.userId,
    });
    expect((await test.call('GET', `${path}/${space.id}`, { token })).body).toEqual({ data: space });
  });

  it('201: only the name is required', async () => {
    expect(await createSpace({ name: 'Hall' })).toMatchObject({
      parent_id: null,
      type_id: null,
      description: null,
      translations_i18n: {},
      capacity: null,
      address: null,
      geo: null,
      timezone: null,
      status: 'active',
      properties: {},
    });
  });

  it('201: for a member of a group that holds spaces.manage', async () => {
    const manager = await createMember(test, tenant, { permissions: ['spaces.manage'] });
    expect((await createSpace({}, manager.token)).created_by).toBe(manager.userId);
  });

  const good: [string, unknown][] = [
    ['name', 'x'],
    ['name', '𝕏'.repeat(200)],
    ['name', ' - '],
    ['description', ''],
    ['description', 'x'.repeat(5000)],
    ['capacity', 0],
    ['capacity', 1_000_000],
    ['capacity', null],
    ['geo', { lat: -90, lng: -180 }],
    ['geo', { lat: 90, lng: 180 }],
    ['geo', null],
    ['status', 'archived'],
    ['translations_i18n', {}],
    ['translations_i18n', languages(200, { name: 'x' })],
    ['translations_i18n', { de: { name: 'x'.repeat(200), description: 'x'.repeat(5000) } }],
    ['address', null],
    ['properties', {}],
    ['properties', { ['k'.repeat(200)]: 'v' }],
    ['timezone', null],
    ['timezone', 'Europe/Berlin'],
    ['timezone', 'Asia/Kolkata'],
    ['timezone', 'Australia/Lord_Howe'],
    ['timezone', 'Pacific/Chatham'],
    ['timezone', 'America/Argentina/ComodRivadavia'],
    ['timezone', 'Etc/GMT+12'],
    ['timezone', 'EST5EDT'],
    ['timezone', 'UTC'],
  ];
  it.each(good)('201: %s %j', async (field, value) => {
    expect((await createSpace({ [field]: value }))[field]).toEqual(value);
  });

  const bad: [string, unknown][] = [
    ['name', ''],
    ['name', ' \t'],
    ['name', null],
    ['name', 'x'.repeat(201)],
    ['description', 'x'.repeat(5001)],
    ['capacity', -1],
    ['capacity', 1.5],
    ['capacity', 1_000_001],
    ['capacity', '5'],
    ['geo', { lat: 90.000001, lng: 0 }],
    ['geo', { lat: -90.000001, lng: 0 }],
    ['geo', { lat: 0, lng: 180.000001 }],
    ['geo', { lat: 0, lng: -180.000001 }],
    ['geo', { lat: 0 }],
    ['geo', { lat: 0, lng: 0, altitude: 5 }],
    ['geo', [0, 0]],
    ['status', 'deleted'],
    ['status', null],
    ['translations_i18n', null],
    ['translations_i18n', { deu: { name: 'x' } }],
    ['translations_i18n', { DE: { name: 'x' } }],
    ['translations_i18n', { 'de\n': { name: 'x' } }],
    ['translations_i18n', { de: 'x' }],
    ['translations_i18n', { de: { title: 'x' } }],
    ['translations_i18n', { de: { name: '' } }],
    ['translations_i18n', { de: { name: 'x'.repeat(201) } }],
    ['translations_i18n', { de: { description: 'x'.repeat(5001) } }],
    ['translations_i18n', languages(201, { name: 'x' })],
    ['address', { city: 'x'.repeat(201) }],
    ['address', []],
    ['properties', []],
    ['properties', null],
    ['timezone', ''],
    ['timezone', '+02:00'],
    ['timezone', 'UTC+2'],
    ['timezone', 'Mars/Base'],
    ['timezone', 'Europe/Berlin '],
    ['timezone', 'x'.repeat(65)],
    ['parent_id', '42'],
    ['parent_id', 'null'],
    ['parentId', newId()],
    ['id', newId()],
    ['tenant_id', newId()],
    ['type', 'room'],
  ];
  it.each(bad)('400: %s %j', async (field, value) => {
    const answer = await test.call('POST', path, { token, body: { name: 'Hall', [field]: value } });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  const sizes: [string, (bytes: number) => unknown][] = [
    ['properties', (bytes) => ({ k: 'x'.repeat(bytes - 8) })],
    ['properties', (bytes) => ({ k: 'ä'.repeat(Math.floor((bytes - 8) / 2)) + 'x'.repeat(bytes % 2) })],
    ['translations_i18n', (bytes) => translationsOf(bytes)],
  ];
  it.each(sizes)('201 up to 32 KiB as JSON and 400 a byte above it: %s, %#', async (field, ofBytes) => {
    for (const method of ['POST', 'PATCH'] as const) {
      const url = method === 'POST' ? path : `${path}/${(await createSpace()).id}`;
      const send = (value: unknown) => test.call(method, url, { token, body: { name: 'Hall', [field]: value } });
      const largest = await send(ofBytes(32_768));
      expect([largest.status, largest.body.data[field]]).toEqual([method === 'POST' ? 201 : 200, ofBytes(32_768)]);
      const answer = await send(ofBytes(32_769));
      expectError(answer, 400, 'VALIDATION_ERROR');
      expect(answer.body.message).toBe(`body.${field}: must be at most 32768 bytes as JSON.`);
    }
  });

  it('400: no name, no object, no body', async () => {
    for (const body of [{}, [], '"Hall"', undefined]) {
      expectError(await test.call('POST', path, { token, body }), 400, 'VALIDATION_ERROR');
    }
  });

  it('401: no credentials', async () => {
    expectError(await test.call('POST', path, { body: { name: 'Hall' } }), 401, 'AUTHENTICATION_ERROR');
  });

  it('403: a member without permissions, before the body is validated', async () => {
    const member = await createMember(test, tenant);
    expectError(await test.call('POST', path, { token: member.token, body: {} }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown parent, and a parent of another tenant, with the same answer', async () => {
    const foreign = await createSpace({}, stranger);
    for (const parentId of [newId(), foreign.id]) {
      const answer = await test.call('POST', path, { token, body: { name: 'Room', parent_id: parentId } });
      expectError(answer, 404, 'NOT_FOUND', 'PARENT_NOT_FOUND');
    }
  });
});

describe('getSpace', () => {
  it('200: for every member', async () => {
    const space = await createSpace();
    const member = await createMember(test, tenant);
    const read = await test.call('GET', `${path}/${space.id}`, { token: member.token });
    expect(read).toMatchObject({ status: 200, body: { data: space } });
  });

  it('400: an id that is not a uuid', async () => {
    expectError(await test.call('GET', `${path}/42`, { token }), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('GET', `${path}/${newId()}`), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: an unknown id, and the id of another tenant', async () => {
    const space = await createSpace();
    expectError(await test.call('GET', `${path}/${newId()}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('GET', `${path}/${space.id}`, { token: stranger }), 404, 'NOT_FOUND');
  });
});
