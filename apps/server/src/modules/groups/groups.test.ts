import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMember, createTenant, logIn, unique, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/groups';
let tenant: Tenant;
let token: string;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  manager = await createMember(test, tenant, { permissions: ['groups.read', 'groups.manage', 'users.read'] });
});

async function createGroup(permissions: string[] = []): Promise<{ id: string; name: string }> {
  const answer = await test.call('POST', path, { token, body: { name: unique('group'), permissions } });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

const addMember = (groupId: string, userId: string, by = token) =>
  test.call('POST', `${path}/${groupId}/members`, { token: by, body: { userId } });

describe('createGroup', () => {
  it('201: creates a group that can be read', async () => {
    const name = unique('Porters');
    const answer = await test.call('POST', path, {
      token,
      body: { name, description: 'Ground floor', permissions: ['spaces.manage'] },
    });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ name, description: 'Ground floor', permissions: ['spaces.manage'] });
    const read = await test.call('GET', `${path}/${answer.body.data.id}`, { token });
    expect(read.body).toEqual(answer.body);
  });

  it.each([
    ['a missing name', {}],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['a description of 501 characters', { name: 'x', description: 'x'.repeat(501) }],
    ['an unknown permission', { name: 'x', permissions: ['everything'] }],
    ['a permission twice', { name: 'x', permissions: ['users.read', 'users.read'] }],
    ['an unknown property', { name: 'x', members: [] }],
  ])('400: %s', async (_what, body) => {
    expectError(await test.call('POST', path, { token, body }), 400, 'VALIDATION_ERROR');
  });

  it('409: a duplicate name, also for 20 concurrent requests', async () => {
    const name = unique('group');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => test.call('POST', path, { token, body: { name } })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array(19).fill(409)]);
  });

  it('422: permissions that the caller does not hold; the answer names them', async () => {
    const body = { name: unique('group'), permissions: ['users.read', 'users.manage'] };
    const answer = await test.call('POST', path, { token: manager.token, body });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN');
    expect(answer.body.details.missing).toEqual(['users.manage']);
  });
});

describe('listGroups', () => {
  it('200: by name, with search and pages', async () => {
    const other = await createTenant(test);
    for (const name of ['beta', 'Alpha', 'gamma']) {
      await test.call('POST', path, { token: other.admin.token, body: { name } });
    }
    const list = async (query: string) => {
      const { body } = await test.call('GET', `${path}${query}`, { token: other.admin.token });
      return { names: body.data.map(({ name }: { name: string }) => name), ...body.pagination };
    };
    expect(await list('')).toEqual({
      names: ['Alpha', 'beta', 'gamma'],
      total: 3,
      limit: 50,
      offset: 0,
      hasMore: false,
    });
    expect((await list('?search=ALP')).names).toEqual(['Alpha']);
    expect(await list('?sort=-name&limit=1')).toMatchObject({ names: ['gamma'], total: 3, hasMore: true });
  });
});

describe('members', () => {
  it('hold the permissions of their groups on the next request, and lose them as fast', async () => {
    const member = await createMember(test, tenant);
    const users = () => test.call('GET', '/api/v1/secure/users', { token: member.token });
    expect((await users()).status).toBe(403);
    const group = await createGroup(['users.read']);

    expect((await addMember(group.id, member.userId)).status).toBe(201);
    expect((await users()).status).toBe(200);

    await test.call('PATCH', `${path}/${group.id}`, { token, body: { permissions: [] } });
    expect((await users()).status).toBe(403);
    await test.call('PATCH', `${path}/${group.id}`, { token, body: { permissions: ['users.read'] } });
    expect((await users()).status).toBe(200);

    expect((await test.call('DELETE', `${path}/${group.id}/members/${member.userId}`, { token })).status).toBe(204);
    expect((await users()).status).toBe(403);

    await addMember(group.id, member.userId);
    expect((await users()).status).toBe(200);
    expect((await test.call('DELETE', `${path}/${group.id}`, { token })).status).toBe(204);
    expect((await users()).status).toBe(403);
  });

  it('are included in the answers of login and me', async () => {
    const member = await createMember(test, tenant);
    const group = await createGroup(['spaces.manage']);
    await addMember(group.id, member.userId);
    const { email, password } = member;
    const login = await test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
    expect(login.body.user).toMatchObject({
      groups: [group.name],
      groupDetails: [{ id: group.id, name: group.name, permissions: ['spaces.manage'] }],
      permissions: ['spaces.manage'],
    });
    const me = await test.call('GET', '/api/v1/auth/me', { token: (await logIn(test, { email, password })).token });
    expect(me.body.data.groups).toEqual([group.name]);
  });

  it('201: 50 concurrent requests add one member and one audit event', async () => {
    const member = await createMember(test, tenant);
    const group = await createGroup();
    const answers = await Promise.all(Array.from({ length: 50 }, () => addMember(group.id, member.userId)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const list = await test.call('GET', `${path}/${group.id}/members`, { token });
    expect(list.body.data).toEqual([answers[0]!.body.data]);
    const trail = await test.call('GET', `/api/v1/secure/audit-logs?resource_id=${member.userId}&action=group.*`, {
      token,
    });
    expect(trail.body.pagination.total).toBe(1);
  });

  it('404: unknown groups and users, and those of another tenant', async () => {
    const foreign = await createTenant(test);
    const group = await createGroup();
    expectError(await addMember(group.id, foreign.admin.userId), 404, 'NOT_FOUND');
    expectError(await addMember(group.id, newId()), 404, 'NOT_FOUND');
    expectError(await addMember(newId(), tenant.admin.userId), 404, 'NOT_FOUND');
    expectError(await addMember(group.id, foreign.admin.userId, foreign.admin.token), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${path}/${group.id}/members/${newId()}`, { token }), 404, 'NOT_FOUND');
  });

  it('422: a caller cannot grant or remove permissions that it does not hold', async () => {
    const member = await createMember(test, tenant);
    const strong = await createGroup(['users.manage']);
    const reason = ['UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN'] as const;
    const by = manager.token;
    expectError(await addMember(strong.id, manager.userId, by), 422, ...reason);
    await addMember(strong.id, member.userId);
    const own = `${path}/${strong.id}`;
    expectError(await test.call('DELETE', `${own}/members/${member.userId}`, { token: by }), 422, ...reason);
    expectError(await test.call('PATCH', own, { token: by, body: { permissions: [] } }), 422, ...reason);
    expectError(await test.call('DELETE', own, { token: by }), 422, ...reason);
    const weak = await createGroup(['users.read']);
    expect((await addMember(weak.id, member.userId, by)).status).toBe(201);
  });
});
