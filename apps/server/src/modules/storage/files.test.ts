import { beforeEach, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { sha256Hex } from '#core/base/crypto/secrets';
import { ObjectMissing } from '#core/data/files/object-store';
import { expectSettled, files, storeFile, upload, webp } from '#modules/storage/testing/uploads';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, strictlyLater, useService, type Answer } from '#test/support/harness';

const test = useService({ now: strictlyLater(), environment: { FILE_LIMIT_BYTES: '100000' } });
let tenant: Tenant;
let token: string;

beforeEach(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const get = (path: string, headers: Record<string, string> = {}) =>
  test.call('GET', `${files}${path}`, { token, headers });
const create = async (url: string, body: object): Promise<string> =>
  (await test.call('POST', url, { token, body })).body.data.id;
const avatarOf = (id: string) => `/api/v1/secure/users/${id}/avatar`;
const newSpace = () => create('/api/v1/secure/spaces', { name: 'Room' });

describe('uploadFile', () => {
  it('201: returns the record, and the download returns the same bytes', async () => {
    const answer = await upload(test, 'hello', { token, name: 'Preis € "x".txt', type: 'text/plain; charset=utf-8' });
    expect(answer).toMatchObject({ status: 201 });
    const file = answer.body.data;
    expect(file).toEqual({
      id: expect.any(String),
      tenant_id: tenant.tenantId,
      name: 'Preis € "x".txt',
      content_type: 'text/plain; charset=utf-8',
      size_bytes: 5,
      sha256: sha256Hex('hello'),
      entity_type: null,
      entity_id: null,
      created_by: tenant.admin.userId,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await get(`/${file.id}`)).body.data).toEqual(file);
    const content = await get(`/${file.id}/content`);
    expect({ status: content.status, text: content.text }).toEqual({ status: 200, text: 'hello' });
    expect(content.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '5',
      'content-disposition': expect.stringMatching(/^attachment; filename=".*"; filename\*=UTF-8''Preis%20%E2%82%AC/),
      etag: `"${sha256Hex('hello')}"`,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'cache-control': 'no-store',
    });
    await expectSettled(test, tenant, [5]);
  });

  it('201: an empty file, any bytes, an HTML page, no media type', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256));
    const empty = await storeFile(test, '', { token });
    expect((await get(`/${empty}`)).body.data.size_bytes).toBe(0);
    expect(await get(`/${empty}/content`)).toMatchObject({ status: 200, text: '' });
    const id = await storeFile(test, bytes, { token, type: 'application/x-anything' });
    const raw = await test.raw({ url: `${files}/${id}/content`, headers: { authorization: `Bearer ${token}` } });
    expect(raw.rawPayload.equals(bytes)).toBe(true);
    const page = await storeFile(test, '<script>alert(1)</script>', { token, type: 'text/html', name: 'a.html' });
    expect((await get(`/${page}/content`)).headers).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': 'attachment; filename="a.html"',
      'content-security-policy': expect.stringContaining('sandbox'),
    });
    const untyped = await test.raw({
      method: 'POST',
      url: `${files}?name=x`,
      headers: { authorization: `Bearer ${token}`, 'content-length': '2' },
      payload: Buffer.from('hi'),
    });
    expect(untyped.json().data.content_type).toBe('application/octet-stream');
    await expectSettled(test, tenant, [0, 70_000, 25, 2]);
  });

  it.each([
    ['x'],
    ['x'.repeat(255)],
    ['\u{1F600}'.repeat(255)],
    ['..a'],
    ['a..'],
    [' .hidden'],
    ['=cmd().csv'],
    ['a%2fb'],
  ])('201: the name %j', async (name) => {
    const answer = await upload(test, 'x', { token, name });
    expect(answer.body.data?.name).toBe(name);
    expect((await get(`/${answer.body.data.id}/content`)).status).toBe(200);
  });

  it.each([
    ['none', ''],
    ['256 characters', 'x'.repeat(256)],
    ['a slash', 'a/b'],
    ['a backslash', 'a\\b'],
    ['one dot', '.'],
    ['two dots', '..'],
    ['two dots between blanks', ' .. '],
    ['two lines', 'a\nb'],
    ['a tab', 'a\tb'],
    ['NUL', 'a\0b'],
    ['blanks', '  '],
    ['a line separator', 'a\u2028b'],
  ])('400: a name of %s, and nothing is stored', async (_what, name) => {
    expectError(await upload(test, 'x', { token, name }), 400, 'VALIDATION_ERROR');
    await expectSettled(test, tenant, []);
  });

  it('400: no name, no length', async () => {
    expectError(await upload(test, 'x', { token, url: `${files}?nam=x` }), 400, 'VALIDATION_ERROR');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
    const bodiless = await test.raw({ method: 'POST', url: `${files}?name=x`, headers });
    expect(bodiless.json()).toMatchObject({ statusCode: 400, details: { code: 'LENGTH_REQUIRED' } });
  });

  it('401: no credentials', async () => {
    expectError(await test.call('POST', `${files}?name=x`, { body: 'x' }), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: the record does not exist, and nothing is stored', async () => {
    for (const type of ['space', 'resource', 'contact']) {
      const url = `${files}?name=x&entity_type=${type}&entity_id=${newId()}`;
      expectError(await upload(test, 'x', { token, url }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    }
    await expectSettled(test, tenant, []);
  });

  it('413: above the maximum size of a file', async () => {
    expectError(await upload(test, 'x'.repeat(100_001), { token }), 413, 'PAYLOAD_TOO_LARGE', 'FILE_TOO_LARGE');
    expect((await upload(test, 'x'.repeat(100_000), { token })).status).toBe(201);
    await expectSettled(test, tenant, [100_000]);
  });

  it.each([
    ['text'],
    ['text/'],
    ['text/plain, text/html'],
    [`text/${'x'.repeat(251)}`],
    ['text/plain; a="\u00e9'],
    ['a/b;c'],
  ])('415: the type %j', async (type) => {
    expectError(await upload(test, 'x', { token, type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    await expectSettled(test, tenant, []);
  });

  it('422: entity_type without entity_id, or the reverse', async () => {
    for (const half of ['entity_type=space', `entity_id=${newId()}`])
      expectError(
        await upload(test, 'x', { token, url: `${files}?name=x&${half}` }),
        422,
        'UNPROCESSABLE_ENTITY',
        'ENTITY_INCOMPLETE',
      );
  });
});

describe('listFiles', () => {
  const names = (answer: Answer) => answer.body.data.map((file: { name: string }) => file.name);

  it('200: newest first, other orders, search, and files of a record', async () => {
    const space = await newSpace();
    await storeFile(test, 'xxx', { token, name: 'Beta plan.txt' });
    await storeFile(test, 'x', { token, name: 'alpha plan.txt', url: `/api/v1/secure/spaces/${space}/files` });
    await storeFile(test, 'xx', { token, name: 'gamma 100%.txt' });
    expect(names(await get(''))).toEqual(['gamma 100%.txt', 'alpha plan.txt', 'Beta plan.txt']);
    expect(names(await get('?sort=created_at'))).toEqual(['Beta plan.txt', 'alpha plan.txt', 'gamma 100%.txt']);
    expect(names(await get('?sort=name'))).toEqual(['alpha plan.txt', 'Beta plan.txt', 'gamma 100%.txt']);
    expect(names(await get('?sort=-size_bytes'))).toEqual(['Beta plan.txt', 'gamma 100%.txt', 'alpha plan.txt']);
    expect(names(await get('?search=PLAN%20b'))).toEqual(['Beta plan.txt']);
    expect(names(await get('?search=100%25'))).toEqual(['gamma 100%.txt']);
    expect(names(await get('?entity_type=space'))).toEqual(['alpha plan.txt']);
    expect(names(await get(`?entity_id=${space}`))).toEqual(['alpha plan.txt']);
    expect(names(await get(`?entity_type=resource&entity_id=${space}`))).toEqual([]);
    const page = await get('?limit=1&offset=1');
    expect(page.body.pagination).toEqual({ total: 3, limit: 1, offset: 1, hasMore: true });
  });

  it('200: the total follows uploads and deletions', async () => {
    const total = async () => (await get('')).body.pagination.total;
    const space = await newSpace();
    const url = `/api/v1/secure/spaces/${space}/files`;
    const id = await storeFile(test, 'x', { token });
    await storeFile(test, 'x', { token, url });
    await storeFile(test, 'x', { token, url });
    expect(await total()).toBe(3);
    await test.call('DELETE', `${files}/${id}`, { token });
    expect(await total()).toBe(2);
    await test.call('DELETE', `/api/v1/secure/spaces/${space}`, { token });
    expect(await total()).toBe(0);
  });
});

describe('updateFile and deleteFile', () => {
  let member: Person;
  let id: string;

  beforeEach(async () => {
    member = await createMember(test, tenant);
    id = await storeFile(test, 'x', { token: member.token, name: 'mine' });
  });

  const patch = (body: unknown, as = member.token) => test.call('PATCH', `${files}/${id}`, { token: as, body });

  it('200: a new name, another record, no record', async () => {
    const space = await newSpace();
    const contact = await create('/api/v1/secure/contacts', {});
    const moved = await patch({ name: 'ours', entity_type: 'space', entity_id: space });
    expect(moved.body.data).toMatchObject({ name: 'ours', entity_type: 'space', entity_id: space });
    const again = await patch({ entity_type: 'contact', entity_id: contact });
    expect(again.body.data).toMatchObject({ name: 'ours', entity_type: 'contact', entity_id: contact });
    const off = await patch({ entity_type: null, entity_id: null });
    expect(off.body.data).toMatchObject({ name: 'ours', entity_type: null, entity_id: null });
    expect((await patch({})).body.data).toEqual(off.body.data);
    expect((await get(`/${id}/content`)).text).toBe('x');
  });

  it('204: the file, its bytes and its usage are removed', async () => {
    expect((await test.call('DELETE', `${files}/${id}`, { token: member.token })).status).toBe(204);
    expectError(await get(`/${id}`), 404, 'NOT_FOUND');
    expectError(await get(`/${id}/content`), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${files}/${id}`, { token: member.token }), 404, 'NOT_FOUND');
    await expectSettled(test, tenant, []);
    await expect(test.service.services.files.get(`${tenant.tenantId}/${id}`)).rejects.toThrow(ObjectMissing);
  });

  it('204: a committed deletion is answered although the store hangs', async () => {
    await upload(test, webp(), { token, url: avatarOf(tenant.admin.userId), type: 'image/webp', method: 'PUT' });
    await upload(test, webp(), {
      token: member.token,
      url: avatarOf(member.userId),
      type: 'image/webp',
      method: 'PUT',
    });
    const hanging = vi.spyOn(test.service.services.files, 'delete').mockReturnValue(new Promise(() => undefined));
    try {
      for (const url of [`${files}/${id}`, avatarOf(tenant.admin.userId), `/api/v1/secure/users/${member.userId}`])
        expect((await test.call('DELETE', url, { token })).status).toBe(204);
      expect(hanging).toHaveBeenCalledTimes(3);
    } finally {
      hanging.mockRestore();
    }
    expect((await get('')).body.pagination.total).toBe(0);
  });

  it.each([
    [{ name: '..' }],
    [{ name: '' }],
    [{ name: null }],
    [{ size_bytes: 0 }],
    [{ entity_type: 'user', entity_id: null }],
  ])('400: %j', async (body) => {
    expectError(await patch(body), 400, 'VALIDATION_ERROR');
  });

  it('403: neither the uploader nor a holder of files.manage; 200 with files.manage', async () => {
    const other = await createMember(test, tenant, { permissions: ['spaces.manage', 'users.manage'] });
    expectError(await patch({ name: 'stolen' }, other.token), 403, 'AUTHORIZATION_ERROR', 'FILE_NOT_OWNED');
    expectError(await patch({}, other.token), 403, 'AUTHORIZATION_ERROR', 'FILE_NOT_OWNED');
    const url = `${files}/${id}`;
    expectError(await test.call('DELETE', url, { token: other.token }), 403, 'AUTHORIZATION_ERROR', 'FILE_NOT_OWNED');
    const keeper = await createMember(test, tenant, { permissions: ['files.manage'] });
    expect((await patch({ name: 'kept' }, keeper.token)).body.data.name).toBe('kept');
    expect((await test.call('DELETE', url, { token: keeper.token })).status).toBe(204);
  });

  it('404 and 422: the record does not exist, or is incomplete', async () => {
    expectError(await patch({ entity_type: 'space', entity_id: newId() }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    for (const half of [{ entity_type: 'space' }, { entity_id: newId() }, { entity_type: null, entity_id: newId() }])
      expectError(await patch(half), 422, 'UNPROCESSABLE_ENTITY', 'ENTITY_INCOMPLETE');
    await expectSettled(test, tenant, [1]);
  });
});
