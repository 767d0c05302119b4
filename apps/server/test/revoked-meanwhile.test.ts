import { beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';

import type { Authenticate } from '#core/http/identify';
import { createKey, type IssuedKey } from '#modules/api-keys/testing/keys';
import { expectSettled, webp } from '#modules/storage/testing/uploads';
import { useEdges } from '#test/support/edge';
import {
  createMember,
  createTenant,
  logInSystemAdmin,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { startService, testServiceOf, useService } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

const soon = { timeout: 30_000 };

const test = useService();
const openEdge = useEdges(test);
let port: number;
let tenant: Tenant;
/** Requests whose headers were authenticated. */
let authenticated = 0;

beforeAll(async () => {
  const authenticate: Authenticate = async (credentials, facts) => {
    const principal = await test.service.authenticate(credentials, facts);
    authenticated += 1;
    return principal;
  };
  ({ port } = await openEdge({ authenticate }));
  tenant = await createTenant(test);
});

const bearer = ({ token }: Pick<Person, 'token'>) => `authorization: Bearer ${token}`;
const keyOf = ({ fullKey }: IssuedKey) => `x-api-key: ${fullKey}`;

type Started = { method?: string; url: string; headers: string[]; body: string | Buffer; type?: string };

/** Sends the headers and half of the body; what it returns sends the rest and reads the answer. */
async function begin({ method = 'POST', url, headers, body, type = 'application/json' }: Started, at = port) {
  const bytes = Buffer.from(body);
  const half = bytes.length >> 1;
  const lines = [`${method} ${url} HTTP/1.1`, 'host: x', `content-type: ${type}`, ...headers];
  const connection = await openConnection(at);
  onTestFinished(() => connection.destroy());
  const before = authenticated;
  connection.send(`${lines.join('\r\n')}\r\ncontent-length: ${bytes.length}\r\n\r\n`);
  connection.send(bytes.subarray(0, half));
  await vi.waitUntil(() => authenticated > before, soon);
  return async () => {
    connection.send(bytes.subarray(half));
    const { status, body: text } = await connection.next();
    return { status, code: (JSON.parse(text) as { error?: unknown }).error };
  };
}

const ok = async (answer: ReturnType<typeof test.call>) => expect((await answer).status).toBeLessThan(300);

const change = (method: 'PATCH' | 'DELETE' | 'POST', url: string, body?: object) =>
  ok(test.call(method, url, { token: tenant.admin.token, body }));

const namesOf = async (url: string): Promise<string[]> => {
  const { body } = await test.call('GET', `${url}?limit=200`, { token: tenant.admin.token });
  return body.data.map((row: { name?: string; email?: string }) => row.name ?? row.email);
};

const users = '/api/v1/secure/users';
const apiKeys = '/api/v1/secure/api-keys';
const spaces = '/api/v1/secure/spaces';
const groups = '/api/v1/secure/groups';

async function memberWith(permissions: string[]): Promise<{ person: Person; groupId: string }> {
  const person = await createMember(test, tenant);
  const body = { name: unique('group'), permissions };
  const group = await test.call('POST', groups, { token: tenant.admin.token, body });
  const groupId = group.body.data.id as string;
  await change('POST', `${groups}/${groupId}/members`, { userId: person.userId });
  return { person, groupId };
}

describe('access that is revoked while the body of a request arrives has no effect', () => {
  it('a deleted administrator creates no other administrator', async () => {
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const email = `${unique('heir')}@example.com`;
    const body = JSON.stringify({ email, password: 'correct horse', isTenantAdmin: true });
    const finish = await begin({ url: users, headers: [bearer(admin)], body });
    await change('DELETE', `${users}/${admin.userId}`);
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    expect(await namesOf(users)).not.toContain(email);
  });

  it('a suspended user creates no API key', async () => {
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const name = unique('key');
    const finish = await begin({ url: apiKeys, headers: [bearer(admin)], body: JSON.stringify({ name }) });
    await change('PATCH', `${users}/${admin.userId}`, { status: 'suspended' });
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    expect(await namesOf(apiKeys)).not.toContain(name);
  });

  it('a demoted administrator creates no API key', async () => {
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const name = unique('key');
    const finish = await begin({ url: apiKeys, headers: [bearer(admin)], body: JSON.stringify({ name }) });
    await change('PATCH', `${users}/${admin.userId}`, { isTenantAdmin: false });
    expect(await finish()).toEqual({ status: 403, code: 'AUTHORIZATION_ERROR' });
    expect(await namesOf(apiKeys)).not.toContain(name);
  });

  it('a revoked session writes nothing', async () => {
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const name = unique('space');
    const finish = await begin({ url: spaces, headers: [bearer(admin)], body: JSON.stringify({ name }) });
    await ok(test.call('POST', '/api/v1/public/auth/logout', { token: admin.token }));
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    expect(await namesOf(spaces)).not.toContain(name);
  });

  it('a user whose group lost the permission, or who left the group, writes nothing', async () => {
    for (const lose of [
      (groupId: string) => change('PATCH', `${groups}/${groupId}`, { permissions: [] }),
      (groupId: string) => change('DELETE', `${groups}/${groupId}`),
      (groupId: string, { userId }: Person) => change('DELETE', `${groups}/${groupId}/members/${userId}`),
    ]) {
      const { person, groupId } = await memberWith(['spaces.manage']);
      const name = unique('space');
      const finish = await begin({ url: spaces, headers: [bearer(person)], body: JSON.stringify({ name }) });
      await lose(groupId, person);
      expect(await finish()).toEqual({ status: 403, code: 'AUTHORIZATION_ERROR' });
      expect(await namesOf(spaces)).not.toContain(name);
    }
  });

  it.each([
    ['deleted', 401, 'INVALID_TOKEN', (id: string) => change('DELETE', `${apiKeys}/${id}`)],
    ['disabled', 401, 'INVALID_TOKEN', (id: string) => change('PATCH', `${apiKeys}/${id}`, { enabled: false })],
    [
      'demoted',
      403,
      'AUTHORIZATION_ERROR',
      (id: string) => change('PATCH', `${apiKeys}/${id}`, { permissions: { spaces: { write: false } } }),
    ],
  ])('an API key that was %s writes nothing', async (_how, status, code, revoke) => {
    const key = await createKey(test, tenant.admin, { permissions: { spaces: { read: true, write: true } } });
    const name = unique('space');
    const finish = await begin({ url: spaces, headers: [keyOf(key)], body: JSON.stringify({ name }) });
    await revoke(key.id);
    expect(await finish()).toEqual({ status, code });
    expect(await namesOf(spaces)).not.toContain(name);
  });

  it('a system administrator who acts on a tenant writes nothing after logging out', async () => {
    const root = await logInSystemAdmin(test);
    const name = unique('space');
    const headers = [bearer(root), `x-tenant-id: ${tenant.tenantId}`];
    const finish = await begin({ url: spaces, headers, body: JSON.stringify({ name }) });
    await ok(test.call('POST', '/api/v1/public/auth/logout', { token: root.token }));
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    expect(await namesOf(spaces)).not.toContain(name);
  });

  it('50 concurrent requests of a revoked API key change nothing', async () => {
    const key = await createKey(test, tenant.admin, { permissions: { spaces: { read: true, write: true } } });
    const prefix = unique('wide');
    const begun: (() => Promise<{ status: number }>)[] = [];
    for (let at = 0; at < 50; at++)
      begun.push(
        await begin({ url: spaces, headers: [keyOf(key)], body: JSON.stringify({ name: `${prefix}-${at}` }) }),
      );
    await change('DELETE', `${apiKeys}/${key.id}`);
    const answers = await Promise.all(begun.map((finish) => finish()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect((await namesOf(spaces)).filter((name) => name.startsWith(prefix))).toEqual([]);
  });

  it('a revocation by another process applies when its notification arrives', async () => {
    const other = await startService();
    onTestFinished(() => other.close());
    const elsewhere = testServiceOf(other, inject('connection'));
    const key = await createKey(test, tenant.admin, { permissions: { spaces: { read: true, write: true } } });
    const name = unique('space');
    const finish = await begin({ url: spaces, headers: [keyOf(key)], body: JSON.stringify({ name }) });
    const { principals } = test.service.services;
    const before = principals.revision();
    await ok(elsewhere.call('DELETE', `${apiKeys}/${key.id}`, { token: tenant.admin.token }));
    await vi.waitUntil(() => principals.revision() > before, soon);
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    expect(await namesOf(spaces)).not.toContain(name);
  });

  it('changes for other users, and granted permissions, stop no request', async () => {
    const { person, groupId } = await memberWith(['spaces.manage']);
    const name = unique('space');
    const finish = await begin({ url: spaces, headers: [bearer(person)], body: JSON.stringify({ name }) });
    await change('PATCH', `${groups}/${groupId}`, { permissions: ['spaces.manage', 'tags.manage'] });
    await change('DELETE', `${users}/${(await createMember(test, tenant)).userId}`);
    expect((await finish()).status).toBe(201);
  });
});

describe('tools', () => {
  const message = (name: string) => {
    const params = { name: 'create_space', arguments: { name } };
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  };

  it('a deleted API key calls no tool', async () => {
    const permissions = { spaces: { read: true, write: true } };
    const key = await createKey(test, tenant.admin, { permissions });
    await change('PATCH', `${apiKeys}/${key.id}`, { mcp_write_enabled: true });
    const name = unique('space');
    const finish = await begin({ url: '/mcp', headers: [keyOf(key), 'accept: application/json'], body: message(name) });
    await change('DELETE', `${apiKeys}/${key.id}`);
    expect((await finish()).status).toBe(401);
    expect(await namesOf(spaces)).not.toContain(name);
  });

  it('an API key that lost the flag for writing tools calls no writing tool', async () => {
    const permissions = { spaces: { read: true, write: true } };
    const key = await createKey(test, tenant.admin, { permissions });
    await change('PATCH', `${apiKeys}/${key.id}`, { mcp_write_enabled: true });
    const name = unique('space');
    const finish = await begin({ url: '/mcp', headers: [keyOf(key), 'accept: application/json'], body: message(name) });
    await change('PATCH', `${apiKeys}/${key.id}`, { mcp_write_enabled: false });
    await finish();
    expect(await namesOf(spaces)).not.toContain(name);
  });
});

describe('uploads', () => {
  it('a suspended user stores no file', async () => {
    const member = await createMember(test, tenant);
    const url = '/api/v1/secure/files?name=late.txt';
    const finish = await begin({ url, headers: [bearer(member)], body: 'late', type: 'text/plain' });
    await change('PATCH', `${users}/${member.userId}`, { status: 'suspended' });
    expect(await finish()).toEqual({ status: 401, code: 'INVALID_TOKEN' });
    await expectSettled(test, tenant, []);
  });

  it('a demoted administrator changes no avatar of another user', async () => {
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const url = `${users}/${tenant.admin.userId}/avatar`;
    const finish = await begin({ method: 'PUT', url, headers: [bearer(admin)], body: webp(), type: 'image/webp' });
    await change('PATCH', `${users}/${admin.userId}`, { isTenantAdmin: false });
    expect(await finish()).toEqual({ status: 403, code: 'AUTHORIZATION_ERROR' });
    await expectSettled(test, tenant, []);
  });

  it('a user with unchanged permissions stores a file', async () => {
    const member = await createMember(test, tenant);
    const url = '/api/v1/secure/files?name=note.txt';
    const finish = await begin({ url, headers: [bearer(member)], body: 'note', type: 'text/plain' });
    await change('DELETE', `${users}/${(await createMember(test, tenant)).userId}`);
    expect((await finish()).status).toBe(201);
  });
});
