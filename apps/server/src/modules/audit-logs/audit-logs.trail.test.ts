import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import type { Route } from '#core/http/route';
import { modules } from '#app/modules';
import { listActions } from '#modules/audit-logs/actions.service';
import { apiKeySuccesses } from '#modules/audit-logs/testing/api-key-successes';
import { appAccountSuccesses } from '#modules/audit-logs/testing/app-account-successes';
import { calendarSuccesses } from '#modules/audit-logs/testing/calendar-successes';
import { categorySuccesses } from '#modules/audit-logs/testing/category-successes';
import { connectorSuccesses } from '#modules/audit-logs/testing/connector-successes';
import { contactLinkSuccesses } from '#modules/audit-logs/testing/contact-link-successes';
import { directorySuccesses } from '#modules/audit-logs/testing/directory-successes';
import { flowTaskSuccesses } from '#modules/audit-logs/testing/flow-task-successes';
import { identityProviderSuccesses } from '#modules/audit-logs/testing/identity-provider-successes';
import { integrationSuccesses } from '#modules/audit-logs/testing/integration-successes';
import { noticeSuccesses } from '#modules/audit-logs/testing/notice-successes';
import { preferenceSuccesses } from '#modules/audit-logs/testing/preference-successes';
import { pushSuccesses } from '#modules/audit-logs/testing/push-successes';
import { storageSuccesses } from '#modules/audit-logs/testing/storage-successes';
import { translationJobSuccesses } from '#modules/audit-logs/testing/translation-job-successes';
import { translationSuccesses } from '#modules/audit-logs/testing/translation-successes';
import { twoFactorSuccesses } from '#modules/audit-logs/testing/two-factor-successes';
import { environment } from '#modules/translation/testing/tenants';
import {
  createMember,
  createTenant,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Tenant,
} from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const test = useService({ environment });
const contacts = '/api/v1/secure/contacts';
const spaces = '/api/v1/secure/spaces';
const users = '/api/v1/secure/users';
const groups = '/api/v1/secure/groups';
const ip = '203.0.113.7';
const userAgent = 'trail/1.0';

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Try = { method: Method; url: string; body?: unknown; type?: string; token?: string; status: number };
type Success = Try & { resourceId?: string | null; resourceType: string; fields?: string[] };

let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  // A tenant whose administrator has not proven an address may invite only a few people.
  await proveAddress(test, tenant.admin.email);
});

async function create(url: string, body: unknown): Promise<string> {
  const answer = await test.call('POST', url, { token: tenant.admin.token, body });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
}

async function save(url: string, body: unknown): Promise<string> {
  const answer = await test.call('PUT', url, { token: tenant.admin.token, body });
  expect(answer.status).toBe(200);
  return answer.body.data.id;
}

const newContact = () => create(contacts, {});
const newSpace = (parentId: string | null = null) => create(spaces, { name: 'Hall', parent_id: parentId });
const newUser = () => create(users, { email: `${unique('user')}@example.com` });

async function newLink(): Promise<{ url: string; contactId: string }> {
  const [spaceId, contactId] = [await newSpace(), await newContact()];
  const url = `${spaces}/${spaceId}/contacts`;
  await create(url, { contactId });
  return { url, contactId };
}

const contactFields = {
  firstName: 'canary',
  lastName: 'canary',
  email: 'canary@example.com',
  phone: '5550canary',
  address: { city: 'canary', canary: 'canary' },
  notes: 'canary',
};
const spaceFields = {
  name: 'canary',
  description: 'canary',
  translations_i18n: { de: { name: 'canary' } },
  properties: { canary: 'canary' },
};
const groupFields = () => ({ name: unique('canary'), description: 'canary', permissions: ['users.read'] });
const userFields = { displayName: 'canary', fullName: 'canary' };
const newPerson = () => ({ email: `${unique('canary')}@example.com`, password: 'canary password', ...userFields });

/** A successful call of every recorded operation. */
const successes: Record<string, () => Promise<Success>> = {
  ...apiKeySuccesses(test, () => tenant),
  ...appAccountSuccesses(create),
  ...calendarSuccesses(test, () => tenant),
  ...categorySuccesses(create),
  ...connectorSuccesses(create),
  ...integrationSuccesses(() => tenant.tenantId, save),
  ...directorySuccesses(test, () => tenant),
  ...flowTaskSuccesses(test, () => tenant),
  ...noticeSuccesses(test, () => tenant),
  ...preferenceSuccesses(test, () => tenant),
  ...pushSuccesses(test, () => tenant),
  ...identityProviderSuccesses(test, () => tenant),
  ...storageSuccesses(test, () => tenant),
  ...translationJobSuccesses(test, () => tenant),
  ...translationSuccesses(test, () => tenant, create),
  ...twoFactorSuccesses(test, () => tenant),
  createContact: () => succeed('POST', contacts, 201, { body: contactFields, resourceType: 'contact' }),
  updateContact: async () => {
    const resourceId = await newContact();
    return succeed('PATCH', `${contacts}/${resourceId}`, 200, {
      body: contactFields,
      resourceType: 'contact',
      resourceId,
      fields: Object.keys(contactFields),
    });
  },
  deleteContact: async () => {
    const resourceId = await newContact();
    return succeed('DELETE', `${contacts}/${resourceId}`, 200, { resourceType: 'contact', resourceId });
  },
  ...contactLinkSuccesses(create),
  createSpace: () => succeed('POST', spaces, 201, { body: spaceFields, resourceType: 'space' }),
  updateSpace: async () => {
    const resourceId = await newSpace();
    const body = { ...spaceFields, parent_id: await newSpace() };
    return succeed('PATCH', `${spaces}/${resourceId}`, 200, {
      body,
      resourceType: 'space',
      resourceId,
      fields: Object.keys(body),
    });
  },
  deleteSpace: async () => {
    const resourceId = await newSpace();
    return succeed('DELETE', `${spaces}/${resourceId}`, 204, { resourceType: 'space', resourceId });
  },
  createGroup: () => succeed('POST', groups, 201, { body: groupFields(), resourceType: 'group' }),
  updateGroup: async () => {
    const resourceId = await create(groups, groupFields());
    const body = groupFields();
    return succeed('PATCH', `${groups}/${resourceId}`, 200, {
      body,
      resourceType: 'group',
      resourceId,
      fields: Object.keys(body),
    });
  },
  deleteGroup: async () => {
    const resourceId = await create(groups, groupFields());
    return succeed('DELETE', `${groups}/${resourceId}`, 204, { resourceType: 'group', resourceId });
  },
  addGroupMember: async () => {
    const [groupId, userId] = [await create(groups, groupFields()), await newUser()];
    const url = `${groups}/${groupId}/members`;
    return succeed('POST', url, 201, { body: { userId }, resourceType: 'user', resourceId: userId });
  },
  removeGroupMember: async () => {
    const [groupId, userId] = [await create(groups, groupFields()), await newUser()];
    const url = `${groups}/${groupId}/members`;
    await test.call('POST', url, { token: tenant.admin.token, body: { userId } });
    return succeed('DELETE', `${url}/${userId}`, 204, { resourceType: 'user', resourceId: userId });
  },
  createUser: () => succeed('POST', users, 201, { body: newPerson(), resourceType: 'user' }),
  inviteUser: () => {
    const { password: _none, ...body } = newPerson();
    return succeed('POST', `${users}/invite`, 201, { body, resourceType: 'user' });
  },
  resendInvitation: async () => {
    const resourceId = await newUser();
    return succeed('POST', `${users}/${resourceId}/invite`, 200, { resourceType: 'user', resourceId });
  },
  updateTenant: () => {
    const url = `/api/v1/secure/tenants/${tenant.tenantId}`;
    const body = { name: 'canary', settings: { twoFactorGraceDays: 7 } };
    return succeed('PATCH', url, 200, { body, resourceType: 'tenant', fields: Object.keys(body) });
  },
  updateProfile: () => {
    const [url, body] = ['/api/v1/secure/profile', { ...userFields, phone: '+43660123456' }];
    const resourceId = tenant.admin.userId;
    return succeed('PATCH', url, 200, { body, resourceType: 'user', resourceId, fields: Object.keys(body) });
  },
  updateUser: async () => {
    const resourceId = await newUser();
    return succeed('PATCH', `${users}/${resourceId}`, 200, {
      body: userFields,
      resourceType: 'user',
      resourceId,
      fields: Object.keys(userFields),
    });
  },
  deleteUser: async () => {
    const resourceId = await newUser();
    return succeed('DELETE', `${users}/${resourceId}`, 204, { resourceType: 'user', resourceId });
  },
};

function succeed(method: Method, url: string, status: number, rest: Omit<Success, keyof Try> & { body?: unknown }) {
  return Promise.resolve({ method, url, status, ...rest });
}

// Auth records events in several tenants; its own tests cover them.
const catalogue = listActions(modules.flatMap((module) => module.routes));
const routes = modules.filter(({ name }) => name !== 'auth').flatMap((module) => module.routes);
const recorded = routes.filter(
  // The same applies to changes of the caller's account and to new sessions.
  ({ method, audit, access }) =>
    method !== 'GET' &&
    typeof audit === 'string' &&
    // Operations of system administrators are recorded in their target, and covered by its tests.
    access.kind !== 'systemAdmin' &&
    access.kind !== 'person' &&
    // Tool calls are recorded for every outcome, and covered by their tests.
    access.kind !== 'anyone' &&
    access.kind !== 'public',
);

async function attempt({ method, url, body, type, status, token }: Try): Promise<{ answer: Answer; rows: any[] }> {
  const answer = await test.call(method, url, {
    token: token ?? tenant.admin.token,
    body,
    ip,
    headers: { 'user-agent': userAgent, ...(type === undefined ? {} : { 'content-type': type }) },
  });
  expect(answer.status).toBe(status);
  const rows = await rowsOf(tenant.tenantId, answer);
  return { answer, rows };
}

/** The audit events of a request in a tenant. */
async function rowsOf(tenantId: string, answer: Answer): Promise<any[]> {
  return test.service.services.database.tenant(tenantId).all({
    kind: 'read',
    text: `select * from audit_logs where tenant_id = $1 and details ->> 'requestId' = $2`,
    values: [tenantId, answer.headers['x-request-id']],
    prepare: false,
  });
}

describe('a success is recorded', () => {
  it('has a successful call for every recorded operation', () => {
    expect(Object.keys(successes).toSorted()).toEqual(recorded.map((route) => route.operationId).toSorted());
  });

  it.each(recorded)('$operationId, once, as $audit', async (route: Route) => {
    const expected = await successes[route.operationId]!();
    const { answer, rows } = await attempt(expected);
    expect(rows).toEqual([
      {
        tenant_id: tenant.tenantId,
        id: expect.any(String),
        created_at: expect.any(String),
        user_id: tenant.admin.userId,
        action: route.audit,
        resource_type: expected.resourceType,
        resource_id: expected.resourceId === undefined ? answer.body.data.id : expected.resourceId,
        details: expect.objectContaining({
          actor: { type: 'user', id: tenant.admin.userId },
          requestId: answer.headers['x-request-id'],
          ...(expected.fields === undefined ? {} : { fields: expected.fields }),
        }),
        ip_address: ip,
        user_agent: userAgent,
        chain_slot: expect.any(Number),
        chain_position: expect.any(Number),
        chain_hash: expect.any(Buffer),
      },
    ]);
    const { audit: action } = route;
    expect(catalogue).toContainEqual(expect.objectContaining({ action, resource_type: expected.resourceType }));
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('a system administrator who names the tenant, in that tenant, with their own tenant', async () => {
    const system = await logInSystemAdmin(test);
    const headers = { 'x-tenant-id': tenant.tenantId };
    const answer = await test.call('POST', contacts, { token: system.token, headers, body: {} });
    expect(answer.status).toBe(201);
    const [row, ...others] = await rowsOf(tenant.tenantId, answer);
    expect(others).toEqual([]);
    expect(row.details.actor).toEqual({
      type: 'user',
      id: system.userId,
      actingFromTenantId: '00000000-0000-7000-8000-000000000001',
    });
  });

  it('at most 256 characters of the user agent', async () => {
    const headers = { 'user-agent': 'x'.repeat(300) };
    const answer = await test.call('POST', contacts, { token: tenant.admin.token, headers, body: {} });
    expect((await rowsOf(tenant.tenantId, answer))[0].user_agent).toBe('x'.repeat(256));
  });
});

describe('a call without a change is not recorded', () => {
  it('an empty patch, and an existing link', async () => {
    const { url, contactId } = await newLink();
    for (const nothing of [
      { method: 'PATCH', url: `${contacts}/${contactId}`, body: {}, status: 200 },
      { method: 'PATCH', url: `${spaces}/${await newSpace()}`, body: {}, status: 200 },
      { method: 'PATCH', url: `${users}/${tenant.admin.userId}`, body: {}, status: 200 },
      { method: 'POST', url, body: { contactId }, status: 201 },
    ] satisfies Try[]) {
      expect((await attempt(nothing)).rows).toEqual([]);
    }
  });

  it.each(recorded)('$operationId, refused with 400 or 401', async (route: Route) => {
    const { method, url } = await successes[route.operationId]!();
    const bad: Partial<Try> =
      route.schema.body === undefined
        ? { url: url.replace(/\?.*/, '').replace(/[0-9a-f-]{36}|google$/, '42') }
        : { body: { canary: 1 } };
    expect((await attempt({ method, url, ...bad, status: 400 })).rows).toEqual([]);
    const anonymous = await test.call(method, url);
    expect(anonymous.status).toBe(401);
    expect(await rowsOf(tenant.tenantId, anonymous)).toEqual([]);
  });

  it('a refusal with 404, also for a record of another tenant, in neither tenant', async () => {
    const [contactId, spaceId, userId] = [await newContact(), await newSpace(), await newUser()];
    const stranger = await createTenant(test);
    const missing = newId();
    const tries: Omit<Try, 'status'>[] = [
      ...[contactId, missing].flatMap((id): Omit<Try, 'status'>[] => [
        { method: 'PATCH', url: `${contacts}/${id}`, body: { notes: 'canary' } },
        { method: 'DELETE', url: `${contacts}/${id}` },
      ]),
      ...[spaceId, missing].flatMap((id): Omit<Try, 'status'>[] => [
        { method: 'PATCH', url: `${spaces}/${id}`, body: { name: 'canary' } },
        { method: 'PATCH', url: `${spaces}/${id}`, body: { parent_id: missing } },
        { method: 'DELETE', url: `${spaces}/${id}` },
        { method: 'POST', url: spaces, body: { name: 'canary', parent_id: id } },
        { method: 'POST', url: `${spaces}/${id}/contacts`, body: { contactId } },
        { method: 'DELETE', url: `${spaces}/${id}/contacts/${contactId}` },
      ]),
      ...[userId, missing].flatMap((id): Omit<Try, 'status'>[] => [
        { method: 'PATCH', url: `${users}/${id}`, body: { displayName: 'canary' } },
        { method: 'DELETE', url: `${users}/${id}` },
        { method: 'POST', url: `${users}/${id}/contacts`, body: { contactId } },
        { method: 'DELETE', url: `${users}/${id}/contacts/${contactId}` },
      ]),
    ];
    for (const each of tries) {
      const { answer, rows } = await attempt({ ...each, token: stranger.admin.token, status: 404 });
      expect([...rows, ...(await rowsOf(stranger.tenantId, answer))]).toEqual([]);
    }
  });

  it('a refusal with 403, 409 or 422', async () => {
    const parent = await newSpace();
    await newSpace(parent);
    const { userId } = tenant.admin;
    const manager = await createMember(test, tenant, { permissions: ['users.manage'] });
    const email = tenant.admin.email;
    for (const refused of [
      { method: 'POST', url: spaces, body: { name: 'canary' }, token: manager.token, status: 403 },
      { method: 'DELETE', url: `${spaces}/${parent}`, status: 409 },
      { method: 'PATCH', url: `${spaces}/${parent}`, body: { parent_id: parent }, status: 409 },
      { method: 'POST', url: users, body: { email }, status: 409 },
      { method: 'DELETE', url: `${users}/${userId}`, status: 409 },
      { method: 'PATCH', url: `${users}/${userId}`, body: { isTenantAdmin: false }, status: 409 },
      { method: 'DELETE', url: `${users}/${userId}`, token: manager.token, status: 422 },
    ] satisfies Try[]) {
      expect((await attempt(refused)).rows).toEqual([]);
    }
  });
});
