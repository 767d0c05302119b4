import { beforeAll, describe, expect, it } from 'vitest';

import { createClock } from '#modules/auth/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  grant,
  logInSystemAdmin,
  unique,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer, type Call } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment: { ACCESS_TOKEN_SECONDS: '3600' } });
const path = '/api/v1/secure/authz/explain';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

type Who = { type: 'user' | 'group' | 'api_key' | 'app_account'; id: string };

const user = ({ userId: id }: { userId: string }): Who => ({ type: 'user', id });
const ask = (body: unknown, call: Call = {}): Promise<Answer> =>
  test.call('POST', path, { token: tenant.admin.token, ...call, body });

async function explain(principal: Who, operation: string, call: Call = {}) {
  const { status, body } = await ask({ principal, operation }, call);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.data;
}

async function createGroup(permissions: string[]): Promise<{ id: string; name: string }> {
  const body = { name: unique('group'), permissions };
  const created = await test.call('POST', '/api/v1/secure/groups', { token: tenant.admin.token, body });
  expect(created.status).toBe(201);
  return created.body.data;
}

async function createKey(body: object = {}): Promise<Who> {
  const created = await test.call('POST', '/api/v1/secure/api-keys', {
    token: tenant.admin.token,
    body: { name: 'Door', permissions: { spaces: { read: true } }, ...body },
  });
  expect(created.status).toBe(201);
  return { type: 'api_key', id: created.body.data.id };
}

async function patch(url: string, body: object): Promise<void> {
  const answer = await test.call('PATCH', `/api/v1/secure/${url}`, { token: tenant.admin.token, body });
  expect(answer.status).toBe(200);
}

describe('explainAccess: a user', () => {
  it('200: the complete answer', async () => {
    const person = await createMember(test, tenant);
    const group = await createGroup(['spaces.manage']);
    const url = `/api/v1/secure/groups/${group.id}/members`;
    await test.call('POST', url, { token: tenant.admin.token, body: { userId: person.userId } });
    expect(await explain(user(person), 'createSpace')).toEqual({
      allowed: true,
      operation: 'createSpace',
      method: 'POST',
      path: '/api/v1/secure/spaces',
      required: 'permission spaces.manage; keys and app accounts: spaces.write',
      because: 'A group of the person holds spaces.manage.',
      grants: [{ source: 'group', id: group.id, name: group.name, permission: 'spaces.manage' }],
      principal: { type: 'user', id: person.userId, name: person.email.split('@')[0], status: 'active' },
      notes: [],
    });
  });

  it('200: a permission that no group of the user holds', async () => {
    const person = await createMember(test, tenant, { permissions: ['users.read'] });
    expect(await explain(user(person), 'createSpace')).toMatchObject({
      allowed: false,
      because: 'No group of the person holds spaces.manage.',
      grants: [],
    });
  });

  it('200: every group that grants the permission, and the role of administrator', async () => {
    const person = await createMember(test, tenant, { permissions: ['users.read'], isTenantAdmin: true });
    await grant(test, tenant.tenantId, person.userId, ['users.read', 'users.manage']);
    const { allowed, because, grants } = await explain(user(person), 'listUsers');
    expect([allowed, because]).toEqual([true, 'Tenant administrators hold every permission.']);
    expect(grants.map((one: { source: string }) => one.source)).toEqual(['tenant_administrator', 'group', 'group']);
  });

  it('200: administrators of tenant and system, and other users', async () => {
    const member = await createMember(test, tenant);
    const admin = user(tenant.admin);
    expect(await explain(admin, 'updateTenant')).toMatchObject({
      allowed: true,
      grants: [{ source: 'tenant_administrator' }],
    });
    expect(await explain(user(member), 'updateTenant')).toMatchObject({ allowed: false, grants: [] });
    expect(await explain(admin, 'listMailOutbox')).toMatchObject({ allowed: false, grants: [] });
    const root = await logInSystemAdmin(test);
    const explained = await explain(user(root), 'listMailOutbox', { token: root.token });
    expect(explained).toMatchObject({ allowed: true, grants: [{ source: 'system_administrator' }] });
    expect(explained.notes).toContainEqual(expect.stringContaining('X-Tenant-Id'));
  });

  it('200: operations for all users, and public operations', async () => {
    const person = user(await createMember(test, tenant));
    for (const operation of ['listSpaces', 'getCurrentUser', 'changePassword', 'logout', 'getHealth'])
      expect(await explain(person, operation)).toMatchObject({ operation, allowed: true, grants: [] });
    const { notes } = await explain(person, 'changePassword');
    expect(notes).toEqual(['A session through an identity provider of this tenant may not call it.']);
  });

  it('200: a suspended user may call only public operations; the group is still listed', async () => {
    const person = await createMember(test, tenant, { permissions: ['users.read'] });
    await patch(`users/${person.userId}`, { status: 'suspended' });
    expect(await explain(user(person), 'listUsers')).toMatchObject({
      allowed: false,
      because: 'The person is suspended.',
      grants: [{ source: 'group', permission: 'users.read' }],
      principal: { status: 'suspended' },
    });
    expect(await explain(user(person), 'getHealth')).toMatchObject({ allowed: true });
    expect(await explain(user(person), 'logout')).toMatchObject({ allowed: true });
  });

  it('200: an invited user', async () => {
    const body = { email: `${unique('invited')}@person.example` };
    const invited = await test.call('POST', '/api/v1/secure/users', { token: tenant.admin.token, body });
    expect(await explain({ type: 'user', id: invited.body.data.id }, 'listSpaces')).toMatchObject({
      allowed: false,
      because: 'The person has not accepted the invitation yet.',
      principal: { status: 'invited' },
    });
  });

  it('200: an enabled second factor counts as verified, and a required one as missing', async () => {
    const strict = await createTenant(test);
    const [bare, secured] = [await createMember(test, strict), await createMember(test, strict)];
    const settle = (requiredFrom: string) =>
      test.service.services.database.tenant(strict.tenantId).interactive.all({
        kind: 'write',
        text: `update tenants set settings = json_build_object('twoFactorRequiredFrom', $2::text) where id = $1`,
        values: [strict.tenantId, requiredFrom],
        prepare: false,
      });
    await test.service.services.database.credential(strict.tenantId).interactive.all({
      kind: 'write',
      text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
             select account_id, 'totp', now(), now() from users where tenant_id = $1 and id = $2`,
      values: [strict.tenantId, secured.userId],
      prepare: false,
    });
    // Its administrator's session must continue, so a system administrator asks.
    const call = { token: (await logInSystemAdmin(test)).token, headers: { 'x-tenant-id': strict.tenantId } };

    await settle('2100-01-01T00:00:00.000Z');
    const later = await explain(user(bare), 'listSpaces', call);
    expect(later).toMatchObject({ allowed: true });
    expect(later.notes).toEqual([expect.stringContaining('at 2100-01-01T00:00:00.000Z')]);

    await settle('2026-01-01T00:00:00.000Z');
    const refused = await explain(user(bare), 'listSpaces', call);
    expect(refused).toMatchObject({
      allowed: false,
      because: 'The tenant requires a second factor and the person has none.',
    });
    expect(refused.notes).toHaveLength(1);
    expect(await explain(user(bare), 'getCurrentUser', call)).toMatchObject({ allowed: true });
    const given = await explain(user(secured), 'listSpaces', call);
    expect(given).toMatchObject({ allowed: true });
    expect(given.notes).toEqual(['Each session of this user must verify a second factor first.']);
  });

  it('200: a suspended tenant has no access', async () => {
    const asleep = await createTenant(test);
    await test.service.services.database.tenant(asleep.tenantId).interactive.all({
      kind: 'write',
      text: `update tenants set status = 'suspended' where id = $1`,
      values: [asleep.tenantId],
      prepare: false,
    });
    const call = { token: (await logInSystemAdmin(test)).token, headers: { 'x-tenant-id': asleep.tenantId } };
    const because = 'The tenant is suspended.';
    expect(await explain(user(asleep.admin), 'listSpaces', call)).toMatchObject({ allowed: false, because });
  });
});

describe('explainAccess: a group', () => {
  it('200: the access of a user who is in this group only', async () => {
    const group = await createGroup(['groups.read']);
    const who: Who = { type: 'group', id: group.id };
    const explained = await explain(who, 'listGroups');
    expect(explained).toMatchObject({
      allowed: true,
      because: 'A group of the person holds groups.read.',
      grants: [{ source: 'group', id: group.id, name: group.name, permission: 'groups.read' }],
      principal: { ...who, name: group.name, status: 'active' },
    });
    expect(explained.notes).toEqual(['The answer is about a user who is in this group only.']);
    expect(await explain(who, 'createGroup')).toMatchObject({ allowed: false, grants: [] });
    expect(await explain(who, 'updateTenant')).toMatchObject({ allowed: false });
    expect(await explain(who, 'listSpaces')).toMatchObject({ allowed: true });
  });
});

describe('explainAccess: an API key', () => {
  it('200: by its flags, and never operations for users', async () => {
    const who = await createKey();
    expect(await explain(who, 'listSpaces')).toMatchObject({
      allowed: true,
      because: 'The flag spaces.read is set.',
      grants: [{ source: 'flag', flag: 'spaces.read' }],
      principal: { ...who, name: 'Door', status: 'active' },
      notes: [],
    });
    expect(await explain(who, 'createSpace')).toMatchObject({
      allowed: false,
      because: 'The flag spaces.write is not set.',
      grants: [],
    });
    for (const operation of ['listContacts', 'getCurrentUser', 'logout', 'changePassword', 'listMailOutbox'])
      expect(await explain(who, operation)).toMatchObject({ operation, allowed: false, grants: [] });
    expect(await explain(who, 'getHealth')).toMatchObject({ allowed: true });
  });

  it('200: disabled or expired, without access', async () => {
    const who = await createKey();
    await patch(`api-keys/${who.id}`, { enabled: false });
    expect(await explain(who, 'listSpaces')).toMatchObject({
      allowed: false,
      because: 'The key is disabled.',
      grants: [{ source: 'flag' }],
      principal: { status: 'disabled' },
    });
    const expiresAt = new Date(clock.now().getTime() + 60_000).toISOString();
    const brief = await createKey({ expires_at: expiresAt });
    expect(await explain(brief, 'listSpaces')).toMatchObject({
      allowed: true,
      notes: [expect.stringContaining(expiresAt)],
    });
    clock.advance(60_000);
    expect(await explain(brief, 'listSpaces')).toMatchObject({
      allowed: false,
      because: 'The key is expired.',
      principal: { status: 'expired' },
    });
  });

  it('200: the notes name its restrictions, without values', async () => {
    const who = await createKey({
      ip_whitelist: ['203.0.113.7'],
      device_fingerprint: 'reader 7',
      permissions: { resources: { read: true, properties: ['color'] } },
    });
    const { allowed, notes } = await explain(who, 'listSpaces');
    expect(allowed).toBe(false);
    expect(notes).toEqual([
      'The key is restricted to certain client addresses.',
      'The key requires its device fingerprint in X-Device-Fingerprint.',
      'The key reads and writes only these properties of resources: color.',
    ]);
    expect(JSON.stringify(notes)).not.toMatch(/203\.0|reader 7/);
  });

  it('404: a deleted key', async () => {
    const who = await createKey();
    await test.call('DELETE', `/api/v1/secure/api-keys/${who.id}`, { token: tenant.admin.token });
    expectError(await ask({ principal: who, operation: 'listSpaces' }), 404, 'NOT_FOUND', 'PRINCIPAL_NOT_FOUND');
  });
});

describe('explainAccess: an app account', () => {
  it('200: by its flags, with the session of its own', async () => {
    const { id } = await createAppAccount(test, tenant, { permissions: { spaces: { read: true } } });
    const who: Who = { type: 'app_account', id };
    expect(await explain(who, 'listSpaces')).toMatchObject({ allowed: true, grants: [{ source: 'flag' }] });
    expect(await explain(who, 'getCurrentUser')).toMatchObject({
      allowed: true,
      because: 'The app account has a session.',
    });
    expect(await explain(who, 'logout')).toMatchObject({ allowed: true });
    for (const operation of ['createSpace', 'listContacts', 'changePassword', 'listUsers'])
      expect(await explain(who, operation)).toMatchObject({ operation, allowed: false });
  });

  it.each(['suspended', 'revoked'])('200: %s, without access', async (status) => {
    const { id } = await createAppAccount(test, tenant, { permissions: { spaces: { read: true } } });
    await patch(`app-accounts/${id}`, { status });
    expect(await explain({ type: 'app_account', id }, 'listSpaces')).toMatchObject({
      allowed: false,
      because: `The app account is ${status}.`,
      principal: { status },
    });
  });

  it('200: expired', async () => {
    const expires = new Date(clock.now().getTime() + 60_000).toISOString();
    const { id } = await createAppAccount(test, tenant, {
      permissions: { spaces: { read: true } },
      expires_at: expires,
    });
    clock.advance(60_000);
    expect(await explain({ type: 'app_account', id }, 'listSpaces')).toMatchObject({
      allowed: false,
      because: 'The app account is expired.',
      principal: { status: 'expired' },
    });
  });
});
