import { expect, vi } from 'vitest';

import { newId } from '#core/crypto/ids';
import { withClient } from '#test/support/database';
import { createDirectory, keyOf } from '#test/support/directory';
import { createAppAccount, createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';
import { insertNotificationRows } from '#test/support/notification-rows';
import { insertProviderRows } from '#test/support/provider-rows';

/** A tenant with rows in every table with rows of tenants, except files. */
export async function populate(test: TestService): Promise<Tenant & { spaceId: string }> {
  const tenant = await createTenant(test);
  const { token, userId } = tenant.admin;
  const send = async (method: 'POST' | 'PUT', path: string, body?: unknown) => {
    const headers = { 'idempotency-key': newId() };
    const answer = await test.call(method, `/api/v1/secure/${path}`, { token, body, headers });
    expect({ path, ok: answer.status < 300 }).toEqual({ path, ok: true });
    return answer.body?.data as { id: string };
  };
  await createMember(test, tenant, { permissions: ['users.read'] });
  const { id: spaceId } = await send('POST', 'spaces', { name: 'House' });
  await send('POST', 'spaces', { name: 'Room', parent_id: spaceId });
  const { id: contactId } = await send('POST', 'contacts', { firstName: 'Ada' });
  await send('POST', `spaces/${spaceId}/contacts`, { contactId });
  const { resources, tags, 'qr-codes': code } = await createDirectory(test, { token }, spaceId);
  await send('POST', 'resources', { name: 'Lamp', parent_id: resources, space_id: spaceId });
  await send('POST', `qr-codes/${code}/assign`, { entity_type: 'space', entity_id: spaceId });
  await send('PUT', `spaces/${spaceId}/tags/${tags}`);
  await send('PUT', `resources/${resources}/tags/${tags}`);
  await keyOf(test, tenant, { spaces: { read: true } });
  const connector = { api_key: 'api', api_name: 'API', api_base_url: 'https://api.example.com' };
  await send('POST', 'ai/providers', connector);
  const redirects = ['https://app.example.com/'];
  const registration = { client_id: 'client', client_secret: 'secret', enabled: true, redirect_uris: redirects };
  await send('PUT', 'identity-providers/google', registration);
  const app = await createAppAccount(test, tenant);
  await test.call('GET', '/api/v1/auth/me', { token: (await logIn(test, app)).token });
  const usage = () => test.call('GET', `/api/v1/secure/app-accounts/${app.id}/usage-stats`, { token });
  // Usage is written asynchronously, next to the requests.
  await vi.waitUntil(async () => (await usage()).body.data.total_requests === 1, { timeout: 30_000 });
  await insertRest(test, { tenantId: tenant.tenantId, spaceId, userId });
  return { ...tenant, spaceId };
}

/** Rows that the API would write, inserted directly. */
async function insertRest(test: TestService, ids: { tenantId: string; spaceId: string; userId: string }) {
  const { tenantId, spaceId, userId } = ids;
  const [parent, child, event] = [newId(), newId(), newId()];
  const at = '2026-01-01T00:00:00Z';
  await withClient(test.connection, async (client) => {
    const category = `insert into categories (tenant_id, id, parent_id, key, level, path, translations, search_text, created_at, updated_at)
      values ($1, $2, $3, $4, 0, '', '{}', '', $5, $5)`;
    await client.query(category, [tenantId, parent, null, 'parent', at]);
    await client.query(category, [tenantId, child, parent, 'child', at]);
    await client.query(
      `insert into category_links (tenant_id, id, category_id, entity_type, entity_id, created_at)
       values ($1, $2, $3, 'space', $4, $5)`,
      [tenantId, newId(), child, spaceId, at],
    );
    await client.query(
      `insert into calendar_events (tenant_id, id, title, visibility, busy, local_start, local_end, timezone, starts_at, ends_at,
         organizer_type, organizer_id, created_at, updated_at, fold)
       values ($1, $2, 'Meeting', 'default', true, '2026-01-01T00:00:00', '2026-01-01T01:00:00', 'UTC', $3::timestamptz, $3::timestamptz + interval '1 hour', 'user', $4, $3, $3, 'earlier')`,
      [tenantId, event, at, userId],
    );
    await client.query(
      `insert into calendar_bookings (tenant_id, event_id, entity_type, entity_id, starts_at, ends_at, busy)
       values ($1, $2, 'space', $3, $4::timestamptz, $4::timestamptz + interval '1 hour', true)`,
      [tenantId, event, spaceId, at],
    );
    await client.query(`insert into tenant_storage (tenant_id, updated_at) values ($1, $2) on conflict do nothing`, [
      tenantId,
      at,
    ]);
    await client.query(
      `insert into account_identities (id, account_id, configured_by, provider, subject, created_at)
       select $1::uuid, account_id, tenant_id, 'google', $1::uuid::text, $3::timestamptz from users where tenant_id = $2 and id = $4`,
      [newId(), tenantId, at, userId],
    );
    await insertProviderRows(client, tenantId);
    await insertNotificationRows(client, { tenantId, userId });
  });
}
