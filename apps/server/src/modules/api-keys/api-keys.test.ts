import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { allPermissions, apiKeys, createKey } from '#modules/api-keys/testing/keys';
import { auditOf, createClock, minute } from '#modules/auth/testing/steps';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;
let reader: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  reader = await createMember(test, tenant, { permissions: ['api_keys.read'] });
});

const create = (body: unknown, query = '', token = tenant.admin.token): Promise<Answer> =>
  test.call('POST', `${apiKeys}${query}`, { token, body });
const list = (query = '', token = tenant.admin.token) => test.call('GET', `${apiKeys}${query}`, { token });
const get = (id: string, token = tenant.admin.token) => test.call('GET', `${apiKeys}/${id}`, { token });
const inFuture = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();

describe('createApiKey', () => {
  it('201: returns the record, the full key and a message', async () => {
    const body = {
      name: 'Door',
      description: 'Front door',
      permissions: { spaces: { read: true }, resources: { read: true, properties: ['serial'] } },
      expires_at: inFuture(minute),
      ip_whitelist: ['192.0.2.7', '2001:DB8::/32'],
      device_fingerprint: 'reader 7',
    };
    const { status, body: answer } = await create(body);
    expect(status).toBe(201);
    const { id, key_uuid: keyUuid } = answer.data;
    expect(answer).toEqual({
      data: {
        ...body,
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        tenantId: tenant.tenantId,
        key_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        key_preview: `svc_sk_${keyUuid.slice(0, 8)}…${answer.fullKey.slice(-4)}`,
        mcp_write_enabled: false,
        enabled: true,
        last_used_at: null,
        last_used_ip: null,
        request_count: 0,
        created_by: tenant.admin.userId,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updated_at: answer.data.created_at,
      },
      fullKey: expect.stringMatching(new RegExp(`^svc_sk_${keyUuid}_[0-9A-Za-z]{49}$`)),
      message: expect.any(String),
    });
    expect(keyUuid).not.toBe(id);
    expect((await get(id)).body).toEqual({ data: answer.data });
    const [entry] = await auditOf(test, tenant.admin, 'api_key.created');
    expect(entry).toMatchObject({ resource_id: id, details: { fields: Object.keys(body) } });
  });

  it('201: with a name only, without permissions', async () => {
    const { status, body } = await create({ name: 'Door' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      description: null,
      permissions: {},
      expires_at: null,
      ip_whitelist: null,
      device_fingerprint: null,
    });
  });

  it('201: two keys may have the same name', async () => {
    const [one, other] = [await createKey(test, tenant.admin), await createKey(test, tenant.admin)];
    expect(new Set([one.id, other.id, one.keyUuid, other.keyUuid]).size).toBe(4);
    expect(one.fullKey.slice(-49)).not.toBe(other.fullKey.slice(-49));
  });

  it.each<[string, object]>([
    ['name of 1', { name: 'x' }],
    ['name of 100', { name: 'x'.repeat(100) }],
    ['name of 100 pairs of surrogates', { name: '\u{1F600}'.repeat(100) }],
    ['no description', { description: null }],
    ['description of 500', { description: 'x'.repeat(500) }],
    ['no permissions', { permissions: {} }],
    ['flags that are off', { permissions: { spaces: { read: false } } }],
    ['all permissions', { permissions: allPermissions }],
    ['200 properties', { permissions: { resources: { properties: names(200) } } }],
    ['whitelist of 100', { ip_whitelist: Array.from({ length: 100 }, (_, at) => `192.0.2.${at}`) }],
    ['longest range', { ip_whitelist: ['0000:0000:0000:0000:0000:ffff:255.255.255.255/128'] }],
    ['fingerprint of 1', { device_fingerprint: 'x' }],
    ['fingerprint of 500', { device_fingerprint: 'x'.repeat(500) }],
  ])('201: %s', async (_what, part) => {
    const { status, body } = await create({ name: 'Door', ...part });
    expect(status).toBe(201);
    expect(body.data).toMatchObject(part);
  });

  it.each<[string, unknown]>([
    ['no name', {}],
    ['empty name', { name: '' }],
    ['blank name', { name: ' ' }],
    ['name of 101', { name: 'x'.repeat(101) }],
    ['no text for a name', { name: 5 }],
    ['description of 501', { name: 'x', description: 'x'.repeat(501) }],
    ['unknown section', { name: 'x', permissions: { contacts: { read: true } } }],
    ['unknown flag', { name: 'x', permissions: { users: { write: true } } }],
    ['flag that is not a boolean', { name: 'x', permissions: { users: { read: 'true' } } }],
    ['section that is null', { name: 'x', permissions: { users: null } }],
    ['permissions that are null', { name: 'x', permissions: null }],
    ['201 properties', { name: 'x', permissions: { resources: { properties: names(201) } } }],
    ['property twice', { name: 'x', permissions: { resources: { properties: ['a', 'a'] } } }],
    ['no time', { name: 'x', expires_at: 'tomorrow' }],
    ['null for a time', { name: 'x', expires_at: null }],
    ['no address', { name: 'x', ip_whitelist: ['localhost'] }],
    ['address with a zone', { name: 'x', ip_whitelist: ['fe80::1%eth0'] }],
    ['range that is too wide', { name: 'x', ip_whitelist: ['192.0.2.0/33'] }],
    ['range with a leading zero', { name: 'x', ip_whitelist: ['10.0.0.0/08'] }],
    ['every address by a mask of 0', { name: 'x', ip_whitelist: ['192.0.2.7/0'] }],
    ['whitelist of 101', { name: 'x', ip_whitelist: Array.from({ length: 101 }, () => '192.0.2.7') }],
    ['whitelist that is not a list', { name: 'x', ip_whitelist: '192.0.2.7' }],
    ['null for a whitelist', { name: 'x', ip_whitelist: null }],
    ['empty fingerprint', { name: 'x', device_fingerprint: '' }],
    ['blank fingerprint', { name: 'x', device_fingerprint: ' ' }],
    ['fingerprint of 501', { name: 'x', device_fingerprint: 'x'.repeat(501) }],
    ['mcp_write_enabled, which only a change sets', { name: 'x', mcp_write_enabled: true }],
    ['enabled, which only a change sets', { name: 'x', enabled: true }],
    ['unknown property', { name: 'x', key_uuid: newId() }],
    ['list', []],
  ])('400: %s', async (_what, body) => {
    expectError(await create(body), 400, 'VALIDATION_ERROR');
  });

  it('400: names the form of a range with host bits', async () => {
    const answer = await create({ name: 'x', ip_whitelist: ['192.0.2.7', '10.1.2.3/8'] });
    expectError(answer, 400, 'VALIDATION_ERROR');
    const form = 'must be an IP address or a range without host bits, such as 10.0.0.0/8';
    expect(answer.body.message).toBe(`body.ip_whitelist.1: ${form}.`);
  });

  it('403: without the permission', async () => {
    expectError(await create({ name: 'x' }, '', reader.token), 403, 'AUTHORIZATION_ERROR');
  });

  it.each([0, -1, -minute])('422: expires %i ms from now', async (ms) => {
    const refused = await create({ name: 'x', expires_at: inFuture(ms) });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'EXPIRES_IN_THE_PAST');
  });

  it('stores expires_at in UTC to the millisecond, never later than requested', async () => {
    const { status, body } = await create({ name: 'x', expires_at: '2999-01-01t02:00:00.123999+02:00' });
    expect(status).toBe(201);
    expect(body.data.expires_at).toBe('2999-01-01T00:00:00.123Z');
  });
});

describe('templates', () => {
  const read = { read: true };

  it('are listed expanded', async () => {
    for (const { token } of [tenant.admin, reader]) {
      const { status, body } = await test.call('GET', `${apiKeys}/templates`, { token });
      expect(status).toBe(200);
      expect(Object.fromEntries(body.data.map((one: any) => [one.name, one.permissions]))).toEqual({
        READ_ONLY: {
          resources: { read: true, properties: [] },
          spaces: read,
          calendar: { free_busy: true },
          users: read,
          tags: read,
          categories: read,
          typeDefinitions: read,
          feedbacks: read,
          qrCodes: read,
        },
        ASSET_TRACKER: {
          resources: { read: true, write: true, properties: [] },
          spaces: read,
          geo: { geocode: true, reverse_geocode: true },
          tags: read,
          categories: read,
          typeDefinitions: read,
          qrCodes: { read: true, write: true, delete: true, assign: true },
        },
        BOOKING_SYSTEM: {
          resources: { read: true, properties: [] },
          spaces: read,
          calendar: { free_busy: true, events: true },
          users: read,
        },
        FULL_ACCESS: allPermissions,
      });
    }
  });

  it.each(['READ_ONLY', 'ASSET_TRACKER', 'BOOKING_SYSTEM', 'FULL_ACCESS'])('%s makes a key', async (name) => {
    const { body: known } = await test.call('GET', `${apiKeys}/templates`, { token: tenant.admin.token });
    const { status, body } = await create({ name: 'x' }, `?template=${name}`);
    expect(status).toBe(201);
    expect(body.data.permissions).toEqual(known.data.find((one: any) => one.name === name).permissions);
  });

  it('are overridden by the permissions of the body', async () => {
    const permissions = { users: { read: false }, spaces: { write: true }, resources: { properties: ['serial'] } };
    const { body } = await create({ name: 'x', permissions }, '?template=BOOKING_SYSTEM');
    expect(body.data.permissions).toEqual({
      users: { read: false },
      spaces: { read: true, write: true },
      resources: { read: true, properties: ['serial'] },
      calendar: { free_busy: true, events: true },
    });
  });

  it.each(['', 'read_only', 'NONE', 'constructor', 'x'.repeat(100)])('422: "%s" is unknown', async (name) => {
    const refused = await create({ name: 'x' }, `?template=${name}`);
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'UNKNOWN_TEMPLATE');
  });

  it('400: a name of 101 characters', async () => {
    expectError(await create({ name: 'x' }, `?template=${'x'.repeat(101)}`), 400, 'VALIDATION_ERROR');
  });
});

describe('listApiKeys', () => {
  it('200: all keys of the tenant by name, in a list without paging', async () => {
    const own = await createTenant(test);
    expect((await list('', own.admin.token)).body).toEqual({ data: [] });
    for (const name of ['b', 'C', 'a']) await createKey(test, own.admin, { name });
    const { status, body } = await list('', own.admin.token);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data']);
    expect(body.data.map((key: any) => key.name)).toEqual(['a', 'b', 'C']);
    expect(JSON.stringify(body)).not.toContain('fullKey');
    expect(JSON.stringify(body)).not.toMatch(/hash|secret/);
  });

  it('200: more rows than pages of other lists, and any page of them', async () => {
    const own = await createTenant(test);
    const { token } = own.admin;
    const numbers = Array.from({ length: 205 }, (_, at) => String(at).padStart(3, '0'));
    for (let at = 0; at < numbers.length; at += 41)
      await Promise.all(numbers.slice(at, at + 41).map((name) => createKey(test, own.admin, { name })));
    const namesOf = async (query: string) => (await list(query, token)).body.data.map((key: any) => key.name);
    expect(await namesOf('')).toEqual(numbers);
    expect(await namesOf('?limit=2')).toEqual(numbers.slice(0, 2));
    expect(await namesOf('?offset=203')).toEqual(numbers.slice(203));
    expect(await namesOf('?limit=200&offset=3')).toEqual(numbers.slice(3, 203));
    expect(await namesOf('?limit=200&offset=205')).toEqual([]);
    expect((await namesOf('?sort=-name'))[0]).toBe('204');
    expect(await namesOf('?search=204')).toEqual(['204']);
  });

  it('200: filtered and sorted', async () => {
    const own = await createTenant(test);
    const { token } = own.admin;
    const first = await createKey(test, own.admin, { name: 'b', description: 'Front door' });
    const second = await createKey(test, own.admin, { name: 'a' });
    await test.call('PATCH', `${apiKeys}/${second.id}`, { token, body: { enabled: false } });
    const idsOf = async (query: string) => (await list(query, token)).body.data.map((key: any) => key.id);
    expect(await idsOf('?sort=created_at')).toEqual([first.id, second.id]);
    expect(await idsOf('?sort=-created_at')).toEqual([second.id, first.id]);
    expect(await idsOf('?search=door%20FRONT')).toEqual([first.id]);
    expect(await idsOf('?search=100%25')).toEqual([]);
    expect(await idsOf('?enabled=true')).toEqual([first.id]);
    expect(await idsOf('?enabled=false')).toEqual([second.id]);
  });

  it.each(['limit=0', 'limit=201', 'limit=x', 'offset=-1', 'offset=1000000001', 'sort=id', 'enabled=maybe'])(
    '400: %s',
    async (query) => {
      expectError(await list(`?${query}`), 400, 'VALIDATION_ERROR');
    },
  );

  it('200: with the permission, 403 without it', async () => {
    expect((await list('', reader.token)).status).toBe(200);
    const manager = await createMember(test, tenant, { permissions: ['api_keys.manage'] });
    expectError(await list('', manager.token), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('getApiKey', () => {
  it('200: with the permission to read keys', async () => {
    const { id } = await createKey(test, tenant.admin);
    expect((await get(id, reader.token)).body.data.id).toBe(id);
    expect((await get(id.toUpperCase(), reader.token)).body.data.id).toBe(id);
  });

  it('400: an invalid id', async () => {
    expectError(await get('42'), 400, 'VALIDATION_ERROR');
  });

  it('404: unknown, of another tenant, or the public part instead of the id', async () => {
    const stranger = await createTenant(test);
    const { id, keyUuid } = await createKey(test, tenant.admin);
    expectError(await get(newId()), 404, 'NOT_FOUND');
    expectError(await get(id, stranger.admin.token), 404, 'NOT_FOUND');
    expectError(await get(keyUuid), 404, 'NOT_FOUND');
  });
});

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `property ${at}`);
}
