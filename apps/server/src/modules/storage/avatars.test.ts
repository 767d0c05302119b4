import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { expectSettled, ledgerOf, upload, webp } from '#modules/storage/testing/uploads';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let member: Person;

beforeEach(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
});

const urlOf = (id: string) => `/api/v1/secure/users/${id}/avatar`;
const put = (content: Buffer, { type = 'image/webp', id = member.userId, token = member.token } = {}) =>
  upload(test, content, { token, url: urlOf(id), type, method: 'PUT' });
const get = (id = member.userId) => test.call('GET', urlOf(id), { token: tenant.admin.token });

describe('saveAvatar', () => {
  it('200: every member sees the avatar, and no list of files contains it', async () => {
    const answer = await put(webp());
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { user_id: member.userId, content_type: 'image/webp' } },
    });
    expect(await get()).toMatchObject({
      status: 200,
      text: webp().toString(),
      headers: { 'content-type': 'image/webp' },
    });
    const list = await test.call('GET', '/api/v1/secure/files', { token: tenant.admin.token });
    expect(list.body).toMatchObject({ data: [], pagination: { total: 0 } });
    const { rows } = await ledgerOf(test, tenant.tenantId);
    const direct = await test.call('GET', `/api/v1/secure/files/${rows[0]!.id}`, { token: tenant.admin.token });
    expectError(direct, 404, 'NOT_FOUND');
    await expectSettled(test, tenant, [16]);
  });

  it('200: a new avatar replaces the old one and frees its space; of 20 concurrent ones, one remains', async () => {
    await put(webp('first'));
    await put(webp('second'), { id: member.userId, token: tenant.admin.token });
    expect((await get()).text).toContain('second');
    await expectSettled(test, tenant, [18]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(webp('12345'))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await expectSettled(test, tenant, [17]);
  });

  it('200: recognises png and jpeg by signature, with a media type in any case', async () => {
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect((await put(png, { type: 'image/png' })).status).toBe(200);
    expect((await put(jpeg, { type: 'image/jpeg' })).status).toBe(200);
    const { status, body } = await put(png, { type: 'IMAGE/Png' });
    expect([status, body.data?.content_type]).toEqual([200, 'image/png']);
  });

  it('403, 404: avatars of others only with users.manage, and only of existing users', async () => {
    const other = await createMember(test, tenant, { permissions: ['files.manage'] });
    for (const id of [member.userId, newId()])
      expectError(await put(webp(), { id, token: other.token }), 403, 'AUTHORIZATION_ERROR', 'AVATAR_NOT_OWNED');
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    expect((await put(webp(), { token: manager.token })).status).toBe(200);
    expectError(await put(webp(), { id: newId(), token: manager.token }), 404, 'NOT_FOUND');
  });

  it('413, 415, 422: too large, wrong media type, wrong content; the old avatar stays', async () => {
    await put(webp());
    const large = Buffer.concat([webp(), Buffer.alloc(1_048_577 - 16)]);
    expectError(await put(large), 413, 'PAYLOAD_TOO_LARGE', 'FILE_TOO_LARGE');
    expect((await put(large.subarray(0, -1))).status).toBe(200);
    for (const type of ['image/gif', 'image/svg+xml', 'text/plain'])
      expectError(await put(webp(), { type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    for (const content of [Buffer.from('<svg onload="alert(1)"></svg>'), Buffer.alloc(0), webp().subarray(0, 11)])
      expectError(await put(content), 422, 'UNPROCESSABLE_ENTITY', 'PICTURE_INVALID');
    expectError(await put(webp(), { type: 'image/png' }), 422, 'UNPROCESSABLE_ENTITY', 'PICTURE_INVALID');
    await expectSettled(test, tenant, [1_048_576]);
  });
});

describe('deleteAvatar', () => {
  it('concurrent with saves: each operation happens before or after the other', async () => {
    for (let round = 0; round < 5; round++) {
      const remove = () => test.call('DELETE', urlOf(member.userId), { token: member.token });
      const calls = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? put(webp('12345')) : remove()));
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      // An avatar that was being uploaded during the deletion is deleted as well.
      expect(statuses.filter((status) => ![200, 204, 404, 409].includes(status))).toEqual([]);
    }
    expect((await put(webp())).status).toBe(200);
    await expectSettled(test, tenant, [16]);
  });

  it('204, then 404; the avatar is deleted with the user', async () => {
    await put(webp());
    const remove = (token: string) => test.call('DELETE', urlOf(member.userId), { token });
    const other = await createMember(test, tenant);
    expectError(await remove(other.token), 403, 'AUTHORIZATION_ERROR', 'AVATAR_NOT_OWNED');
    expect((await remove(member.token)).status).toBe(204);
    expectError(await get(), 404, 'NOT_FOUND');
    expectError(await remove(member.token), 404, 'NOT_FOUND');
    await expectSettled(test, tenant, []);
    await put(webp());
    const url = `/api/v1/secure/users/${member.userId}`;
    expect((await test.call('DELETE', url, { token: tenant.admin.token })).status).toBe(204);
    expectError(await get(), 404, 'NOT_FOUND');
    await expectSettled(test, tenant, []);
  });
});
