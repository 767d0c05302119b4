import { beforeAll, describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { newId } from '#core/base/crypto/ids';
import type { Route } from '#core/http/route';
import { listActions } from '#modules/audit-logs/actions.service';
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
import { missingSamples, sampleContext, sampleSuccesses, type Success, type Successes } from '#test/support/samples';

const test = useService({ environment });
const contacts = '/api/v1/secure/contacts';
const spaces = '/api/v1/secure/spaces';
const users = '/api/v1/secure/users';
const ip = '203.0.113.7';
const userAgent = 'trail/1.0';

type Try = Pick<Success, 'method' | 'url' | 'body' | 'type' | 'status'> & { token?: string };

let tenant: Tenant;
/** A successful call of every recorded operation. */
let successes: Successes;

beforeAll(async () => {
  tenant = await createTenant(test);
  // A tenant whose administrator has not proven an address may invite only a few people.
  await proveAddress(test, tenant.admin.email);
  successes = sampleSuccesses(sampleContext(test, tenant));
});

async function create(url: string, body: unknown): Promise<string> {
  const answer = await test.call('POST', url, { token: tenant.admin.token, body });
  expect(answer.status).toBe(201);
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

/** @throws Error that names the file without one */
async function successOf({ operationId }: Route): Promise<Success> {
  const success = successes[operationId];
  if (success === undefined) throw new Error(missingSamples('successes', [], [operationId]).join());
  return success();
}

describe('a success is recorded', () => {
  it('has a successful call for every recorded operation', () => {
    const expected = recorded.map((route) => route.operationId);
    expect(missingSamples('successes', Object.keys(successes), expected)).toEqual([]);
  });

  it.each(recorded)('$operationId, once, as $audit', async (route: Route) => {
    const expected = await successOf(route);
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
    const { method, url } = await successOf(route);
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
