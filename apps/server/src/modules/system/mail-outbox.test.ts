import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import {
  createMember,
  createTenant,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// Other tests set clocks ahead, so their mails are newer.
const test = useService({ ownDatabase: true });
const path = '/api/v1/system/mail-outbox';
let system: Person;
let tenant: Tenant;

beforeAll(async () => {
  system = await logInSystemAdmin(test);
  tenant = await createTenant(test);
  await proveAddress(test, tenant.admin.email);
});

const list = (query = '', headers: Record<string, string> = {}): Promise<Answer> =>
  test.call('GET', path + query, { token: system.token, headers });

async function invite(): Promise<string> {
  const email = `${unique('invited')}@example.com`;
  const body = { email };
  expect((await test.call('POST', '/api/v1/secure/users', { token: tenant.admin.token, body })).status).toBe(201);
  return email;
}

describe('listMailOutbox', () => {
  it('200: newest first, with undelivered texts', async () => {
    const recipients = [await invite(), await invite()];
    const { status, body } = await list('?limit=200');
    expect(status).toBe(200);
    const mine = body.data.filter((mail: Record<string, any>) => recipients.includes(mail.recipient));
    expect(mine.map((mail: Record<string, any>) => mail.recipient)).toEqual(recipients.toReversed());
    expect(mine[0]).toEqual({
      id: expect.any(String),
      recipient: recipients[1],
      subject: `You are invited to ${tenant.name}`,
      text: expect.stringContaining('/accept-invitation#token='),
      created_at: expect.any(String),
      sent_at: null,
      given_up_at: null,
      attempts: 0,
      last_error: null,
    });
  });

  it('200: texts are encrypted in the database', async () => {
    const email = await invite();
    const text = 'select body from mail_outbox where recipient = $1';
    const [row] = await test.service.services.database
      .platform()
      .all<{ body: string }>({ kind: 'read', text, values: [email], prepare: false });
    expect(row!.body).not.toContain('token');
  });

  it('200: pages, and the total also beyond the end', async () => {
    await invite();
    const page = (await list('?limit=1')).body;
    expect(page.data).toHaveLength(1);
    expect(page.pagination).toMatchObject({ limit: 1, offset: 0 });
    const beyond = (await list('?offset=1000000')).body;
    expect(beyond.data).toEqual([]);
    expect(beyond.pagination).toMatchObject({ limit: 50, offset: 1_000_000, hasMore: false });
    expect(beyond.pagination.total).toBeGreaterThan(0);
  });

  it('200: each read is recorded', async () => {
    const answer = await list();
    const rows = await test.service.services.database.tenant(systemTenantId).all({
      kind: 'read',
      text: `select user_id, action, resource_type, resource_id from audit_logs where details ->> 'requestId' = $1`,
      values: [answer.headers['x-request-id']],
      prepare: false,
    });
    expect(rows).toEqual([
      { user_id: system.userId, action: 'mail_outbox.read', resource_type: 'mail_outbox', resource_id: null },
    ]);
  });

  it.each(['limit=0', 'limit=201', 'offset=-1', 'limit=x'])('400: %s', async (query) => {
    expectError(await list(`?${query}`), 400, 'VALIDATION_ERROR');
  });

  it('401 without credentials, 403 for callers other than system administrators', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    const member = await createMember(test, tenant, { permissions: ['audit_logs.read', 'users.manage'] });
    for (const { token } of [tenant.admin, member]) {
      expectError(await test.call('GET', path, { token }), 403, 'AUTHORIZATION_ERROR');
      const headers = { 'x-tenant-id': '00000000-0000-7000-8000-000000000001' };
      expectError(await test.call('GET', path, { token, headers }), 403, 'AUTHORIZATION_ERROR');
    }
  });
});
