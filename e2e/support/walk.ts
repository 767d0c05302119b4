import { expect } from 'vitest';

import { Client, newTenant, password, type Answer } from './client.ts';

/** The shortest useful day with Atrium, over HTTP only; the same against every kind of database. */
export async function walk(base: string): Promise<void> {
  const { client, email } = await newTenant(base);
  const me = await client.get('/api/v1/auth/me');
  expect(me.status).toBe(200);
  expect(JSON.stringify(me.body)).toContain(email);

  const space = created(await client.post('/api/v1/secure/spaces', { name: 'Workshop', capacity: 12 }));
  const contact = created(
    await client.post('/api/v1/secure/contacts', { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com' }),
  );
  const link = created(
    await client.post(`/api/v1/secure/spaces/${space.id}/contacts`, { contactId: contact.id, isPrimary: true }),
  );
  expect(link).toMatchObject({ contact_id: contact.id, is_primary: true, contact: { first_name: 'Ada' } });

  const references = await client.get(`/api/v1/secure/contacts/${contact.id}/references`);
  expect(references.body.data).toMatchObject([{ entity_type: 'space', entity_id: space.id, entity_name: 'Workshop' }]);
  const found = await client.get('/api/v1/secure/contacts?search=lovelace');
  expect(found.body).toMatchObject({ data: [{ id: contact.id }], pagination: { total: 1, hasMore: false } });

  const trail = await client.all('/api/v1/secure/audit-logs?sort=created_at');
  const happened = trail.map((row) => `${row.action} ${row.resource_id}`);
  for (const event of [
    `tenant.created ${client.tenantId}`,
    `space.created ${space.id}`,
    `contact.created ${contact.id}`,
    `space_contact.added ${link.id}`,
  ]) {
    expect(happened.filter((row) => row === event)).toEqual([event]);
  }
  await leave(client);
}

/** Refresh, then log out: each token ends when it should. */
async function leave(client: Client): Promise<void> {
  const before = client.refreshToken;
  const refreshed = await client.post('/api/v1/public/auth/refresh', { refreshToken: before });
  expect(refreshed.status).toBe(200);
  client.take(refreshed.body);
  expect(client.refreshToken).not.toBe(before);
  expect((await client.get('/api/v1/auth/me')).status).toBe(200);

  const loggedOut = await client.post('/api/v1/public/auth/logout', { refreshToken: client.refreshToken });
  expect(loggedOut.status).toBeLessThan(300);
  expect((await client.get('/api/v1/auth/me')).status).toBe(401);
  const late = await client.post('/api/v1/public/auth/refresh', { refreshToken: client.refreshToken });
  expect(late.status).toBe(401);
}

/** Logs in again and expects all data of the tenant, and none of another. */
export async function comeBack(base: string, email: string): Promise<Client> {
  const client = new Client(base);
  expect((await client.logIn(email, password)).status).toBe(200);
  return client;
}

function created(answer: Answer): any {
  expect(answer.body).toHaveProperty('data');
  expect(answer.status).toBe(201);
  return answer.body.data;
}
