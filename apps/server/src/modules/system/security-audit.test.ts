import { beforeAll, describe, expect, it, vi } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { createSecurityEvents, type SecurityEvent } from '#core/data/security-events/security-events';
import { withClient } from '#test/support/database';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService();
const path = '/api/v1/system/logs/security-audit';
const hour = 3_600_000;
let system: Person;
let tenant: Tenant;

type Event = {
  id: string;
  timestamp: string;
  eventType: string;
  tenantId: string | null;
  userId: string | null;
  details: Record<string, any>;
};

beforeAll(async () => {
  system = await logInSystemAdmin(test);
  tenant = await createTenant(test);
});

const list = (query = ''): Promise<Answer> => test.call('GET', path + query, { token: system.token });

async function eventsOf(query: string): Promise<Event[]> {
  const { status, body } = await list(`?limit=200&${query}`);
  expect(status).toBe(200);
  return body.data;
}

const anEvent: SecurityEvent = { type: 'admin_action', tenantId: null, userId: null, details: {} };

/** The events of a request, after they and later events were written. */
async function eventsAfter(answer: Answer): Promise<Event[]> {
  const marker = newId();
  test.service.services.securityEvents.record({ ...anEvent, tenantId: marker });
  await vi.waitFor(async () => expect(await eventsOf(`tenantId=${marker}`)).toHaveLength(1), 30_000);
  const startTime = new Date(Date.now() - 60_000).toISOString();
  // By id, because events of other suites push these to the next page.
  const found = new Map<string, Event>();
  for (let offset = 0; ; offset += 200) {
    const events = await eventsOf(`startTime=${startTime}&offset=${offset}`);
    for (const event of events)
      if (event.details.requestId === answer.headers['x-request-id']) found.set(event.id, event);
    if (events.length < 200) return [...found.values()];
  }
}

/** Written events of a separate tenant, one hour apart, the last one an hour ago. */
async function settle(events: Partial<SecurityEvent>[]): Promise<string> {
  const { database, log } = test.service.services;
  const tenantId = newId();
  let at = Date.now() - events.length * hour;
  const trail = createSecurityEvents({ database, log, now: () => new Date(at) });
  for (const event of events) {
    trail.record({ ...anEvent, tenantId, ...event });
    at += hour;
  }
  await trail.close();
  return tenantId;
}

describe('listSecurityAudit: recorded events', () => {
  it('login_failed, with the tenant and user when the address has one, and never the address or the password', async () => {
    const { email, userId } = await createMember(test, tenant);
    const body = { email, password: 'not the password' };
    const failed = await test.call('POST', '/api/v1/public/auth/login', { body, ip: '203.0.113.7' });
    expect(failed.status).toBe(401);
    const events = await eventsAfter(failed);
    expect(events).toEqual([
      {
        id: expect.any(String),
        timestamp: expect.any(String),
        eventType: 'login_failed',
        tenantId: tenant.tenantId,
        userId,
        details: expect.objectContaining({ ip: '203.0.113.7', requestId: failed.headers['x-request-id'] }),
      },
    ]);
    expect(JSON.stringify(events)).not.toMatch(/not the password|@|example/);
  });

  it('login_failed for an unknown address, without tenant and user', async () => {
    const body = { email: `${unique('stranger')}@stranger.example`, password: 'not the password' };
    const failed = await test.call('POST', '/api/v1/public/auth/login', { body });
    const events = await eventsAfter(failed);
    expect(events).toMatchObject([{ eventType: 'login_failed', tenantId: null, userId: null }]);
    expect(JSON.stringify(events)).not.toMatch(/not the password|@|stranger/);
  });

  it('permission_denied, exactly once for a 403', async () => {
    const { token, userId } = await createMember(test, tenant);
    const refused = await test.call('GET', '/api/v1/secure/users', { token, ip: '203.0.113.8' });
    expect(refused.status).toBe(403);
    expect(await eventsAfter(refused)).toEqual([
      {
        id: expect.any(String),
        timestamp: expect.any(String),
        eventType: 'permission_denied',
        tenantId: tenant.tenantId,
        userId,
        details: {
          operation: 'listUsers',
          actor: { type: 'user', id: userId },
          ip: '203.0.113.8',
          requestId: refused.headers['x-request-id'],
        },
      },
    ]);
  });

  it('permission_denied, once, for a caller who names a tenant of others', async () => {
    const { token, userId } = tenant.admin;
    const headers = { 'x-tenant-id': systemTenantId };
    const refused = await test.call('GET', '/api/v1/secure/users', { token, headers });
    expect(refused.status).toBe(403);
    expect(await eventsAfter(refused)).toMatchObject([
      {
        eventType: 'permission_denied',
        tenantId: tenant.tenantId,
        userId,
        details: { reason: 'FOREIGN_TENANT_NAMED' },
      },
    ]);
  });

  it('admin_action, once, for a change with administrative permissions, with the operation and without values', async () => {
    const body = { name: 'canary', permissions: ['users.read'] };
    const changed = await test.call('POST', '/api/v1/secure/groups', { token: tenant.admin.token, body });
    expect(changed.status).toBe(201);
    const events = await eventsAfter(changed);
    expect(events).toMatchObject([
      {
        eventType: 'admin_action',
        tenantId: tenant.tenantId,
        userId: tenant.admin.userId,
        details: { operation: 'createGroup', actor: { type: 'user', id: tenant.admin.userId } },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain('canary');
  });

  it('admin_action of a system administrator in the named tenant, with their own tenant', async () => {
    const headers = { 'x-tenant-id': tenant.tenantId };
    const body = { name: unique('group') };
    const changed = await test.call('POST', '/api/v1/secure/groups', { token: system.token, headers, body });
    expect(changed.status).toBe(201);
    const actor = { type: 'user', id: system.userId, actingFromTenantId: systemTenantId };
    expect(await eventsAfter(changed)).toMatchObject([
      { eventType: 'admin_action', tenantId: tenant.tenantId, userId: system.userId, details: { actor } },
    ]);
  });

  it('api_key_used, and permission_denied of a key, with the key and no user, and never with the key itself', async () => {
    const { token } = tenant.admin;
    const created = await test.call('POST', '/api/v1/secure/api-keys', { token, body: { name: 'canary' } });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    const headers = { 'x-api-key': created.body.fullKey };
    const refused = await test.call('GET', '/api/v1/secure/spaces', { headers, ip: '203.0.113.9' });
    expect(refused.status).toBe(403);
    const events = await eventsAfter(refused);
    expect(events.map((event) => event.eventType).toSorted()).toEqual(['api_key_used', 'permission_denied']);
    for (const event of events) {
      expect(event).toMatchObject({ tenantId: tenant.tenantId, userId: null });
      expect(event.details).toMatchObject({ actor: { type: 'api_key', id }, ip: '203.0.113.9' });
    }
    expect(JSON.stringify(events)).not.toMatch(/canary|svc_sk_/);
  });

  it('permission_denied of an app account, with the account and no user', async () => {
    const account = await createAppAccount(test, tenant);
    const { token } = await logIn(test, account);
    const refused = await test.call('GET', '/api/v1/secure/contacts', { token });
    expect(refused.status).toBe(403);
    const actor = { type: 'app_account', id: account.id };
    expect(await eventsAfter(refused)).toMatchObject([
      { eventType: 'permission_denied', tenantId: tenant.tenantId, userId: null, details: { actor } },
    ]);
  });

  it('no event for unrestricted operations, for other failures, and for 401', async () => {
    const { token } = await createMember(test, tenant);
    const admin = tenant.admin.token;
    for (const answer of [
      await test.call('POST', '/api/v1/secure/contacts', { token, body: {} }),
      await test.call('GET', '/api/v1/secure/users', { token: admin }),
      await test.call('POST', '/api/v1/secure/groups', { token: admin, body: {} }),
      await test.call('DELETE', `/api/v1/secure/groups/${newId()}`, { token: admin }),
      await test.call('GET', '/api/v1/secure/users'),
      await test.call('GET', '/api/v1/secure/users', { token: 'x' }),
    ])
      expect({ status: answer.status, events: await eventsAfter(answer) }).toMatchObject({ events: [] });
  });
});

describe('listSecurityAudit: filters', () => {
  it('200: by type, tenant and user', async () => {
    const [first, second] = [newId(), newId()];
    const tenantId = await settle([
      { type: 'login_failed', userId: first },
      { type: 'permission_denied', userId: first },
      { type: 'api_key_used', userId: null },
      { type: 'admin_action', userId: second },
    ]);
    const types = async (query: string) => (await eventsOf(query)).map((event) => event.eventType);
    const newestFirst = ['admin_action', 'api_key_used', 'permission_denied', 'login_failed'];
    expect(await types(`tenantId=${tenantId}`)).toEqual(newestFirst);
    expect(await types(`tenant_id=${tenantId.toUpperCase()}`)).toEqual(newestFirst);
    expect(await types(`userId=${first}`)).toEqual(['permission_denied', 'login_failed']);
    expect(await types(`userId=${first}&tenantId=${newId()}`)).toEqual([]);
    for (const type of newestFirst) expect(await types(`tenantId=${tenantId}&eventType=${type}`)).toEqual([type]);
    expect(await types(`tenantId=${tenantId}&event_type=api_key_used&userId=${first}`)).toEqual([]);
  });

  it('200: by time range, start inclusive and end exclusive, in any time zone', async () => {
    const tenantId = await settle([{ details: { at: 0 } }, { details: { at: 1 } }, { details: { at: 2 } }]);
    const times = (await eventsOf(`tenantId=${tenantId}&sort=timestamp`)).map((event) => event.timestamp);
    const ats = async (query: string) =>
      (await eventsOf(`tenantId=${tenantId}&sort=timestamp&${query}`)).map((event) => event.details.at);
    expect(await ats(`startTime=${times[1]}`)).toEqual([1, 2]);
    expect(await ats(`endTime=${times[1]}`)).toEqual([0]);
    expect(await ats(`startTime=${times[0]}&endTime=${times[2]}`)).toEqual([0, 1]);
    const there = new Date(Date.parse(times[1]!) + 2 * hour).toISOString().replace('Z', '%2B02:00');
    expect(await ats(`start_time=${there}`)).toEqual([1, 2]);
  });

  it('200: in either order, page by page, with the total', async () => {
    const tenantId = await settle([{ details: { at: 0 } }, { details: { at: 1 } }, { details: { at: 2 } }]);
    const page = async (query: string) => {
      const { body } = await list(`?tenantId=${tenantId}&${query}`);
      return [body.data.map((event: Event) => event.details.at), body.pagination];
    };
    expect(await page('')).toEqual([[2, 1, 0], { total: 3, limit: 50, offset: 0, hasMore: false }]);
    expect(await page('sort=-timestamp&limit=2')).toEqual([[2, 1], { total: 3, limit: 2, offset: 0, hasMore: true }]);
    expect(await page('sort=timestamp&limit=2&offset=2')).toEqual([
      [2],
      { total: 3, limit: 2, offset: 2, hasMore: false },
    ]);
    expect(await page('offset=5')).toEqual([[], { total: 3, limit: 50, offset: 5, hasMore: false }]);
  });

  it('200: totals are exact up to 10,000 and marked above', async () => {
    const tenantId = newId();
    const add = (count: number) =>
      withClient(test.connection, (client) =>
        client.query(
          `insert into security_events (id, created_at, event_type, concerned_tenant_id)
           select gen_random_uuid(), now(), 'login_failed', $1 from generate_series(1, $2::int)`,
          [tenantId, count],
        ),
      );
    await add(10_000);
    const exact = await list(`?tenantId=${tenantId}`);
    expect([exact.body.pagination.total, exact.headers['x-total-capped']]).toEqual([10_000, undefined]);
    await add(5);
    const capped = await list(`?tenantId=${tenantId}`);
    expect([capped.body.pagination.total, capped.headers['x-total-capped']]).toEqual([10_001, 'true']);
    await withClient(test.connection, (client) =>
      client.query('delete from security_events where concerned_tenant_id = $1', [tenantId]),
    );
  });

  it.each([
    'limit=0',
    'limit=201',
    'offset=-1',
    'sort=id',
    'sort=details',
    'eventType=none',
    'eventType=',
    'tenantId=acme',
    'userId=1',
    'startTime=yesterday',
    'endTime=2026-02-30T00:00:00Z',
  ])('400: %s', async (query) => {
    expectError(await list(`?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for callers other than system administrators', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['audit_logs.read'] });
    for (const { token } of [tenant.admin, member])
      expectError(await test.call('GET', path, { token }), 403, 'AUTHORIZATION_ERROR');
  });
});
