import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { Actor, Person } from '#core/base/access/principal';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { deleteContact } from '#modules/contacts/contacts.service';
import { deleteFile } from '#modules/storage/files.service';
import { storeFile } from '#modules/storage/testing/uploads';
import { withClient } from '#test/support/database';
import {
  createAppAccount,
  createMember,
  createTenant,
  grant,
  loginOf,
  unique,
  type Tenant,
} from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const test = useService();
const secure = '/api/v1/secure';

let tenant: Tenant;
let token: string;

beforeEach(async () => {
  tenant = await createTenant(test);
  ({ token } = tenant.admin);
  // Heads of all chains, so that one that is locked is one that can be seen.
  await asOwner(`insert into audit_chains (tenant_id, slot, length, head)
    select $1, n, 1, '\\x00' from generate_series(0, 31) as n on conflict do nothing`);
});

const asOwner = (text: string) => withClient(test.connection, (client) => client.query(text, [tenant.tenantId]));

async function created(path: string, body: object): Promise<string> {
  const answer = await test.call('POST', `${secure}/${path}`, { token, body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data.id;
}

const remove = (path: string) => test.call('DELETE', `${secure}/${path}`, { token });

/**
 * Holds a lock until the operation waits for it. At that moment it must not hold the head of a chain, because another
 * transaction that holds the lock may need the same head.
 */
async function expectChainsFree(held: string, work: () => Promise<Answer>): Promise<void> {
  const answer = await withClient(test.connection, async (holder) => {
    await holder.query('begin');
    const { rowCount } = await holder.query(`${held} for update`, [tenant.tenantId]);
    expect(rowCount).toBeGreaterThan(0);
    const working = work();
    await vi.waitFor(
      async () => {
        const text = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))';
        expect((await holder.query(text)).rowCount).toBeGreaterThan(0);
      },
      { timeout: 30_000, interval: 5 },
    );
    const heads = await asOwner('select slot from audit_chains where tenant_id = $1 for update skip locked');
    await holder.query('commit');
    expect(heads.rowCount).toBe(32);
    return working;
  });
  expect(answer.status).toBeLessThan(300);
}

const storage = 'select from tenant_storage where tenant_id = $1';
const sessions = `select from sessions where tenant_id = $1 and ended_at is null and user_id = `;

describe('the head of an audit chain is locked last', () => {
  it('when a file is deleted', async () => {
    const id = await storeFile(test, 'abc', { token });
    await expectChainsFree(storage, () => remove(`files/${id}`));
  });

  it('when an upload is complete', async () => {
    if (!test.service.http.server.listening) await test.service.http.listen({ port: 0, host: '127.0.0.1' });
    const { port } = test.service.http.server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain', 'content-length': '6' };
    const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: `${secure}/files?name=a`, headers });
    request.write('abc');
    const text = `select from files where tenant_id = $1 and status = 'uploading'`;
    await vi.waitFor(async () => expect((await asOwner(text)).rowCount).toBe(1), { timeout: 30_000 });
    await expectChainsFree(storage, async () => {
      const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
      request.end('def');
      const [answer] = await answered;
      answer.resume();
      return { status: answer.statusCode!, headers: {}, body: undefined, text: '' };
    });
  });

  it('when a user is suspended or deleted', async () => {
    const suspended = await createMember(test, tenant);
    const body = { status: 'suspended' };
    await expectChainsFree(`${sessions} '${suspended.userId}'`, () =>
      test.call('PATCH', `${secure}/users/${suspended.userId}`, { token, body }),
    );
    const deleted = await createMember(test, tenant);
    await expectChainsFree(`${sessions} '${deleted.userId}'`, () => remove(`users/${deleted.userId}`));
  });

  it('when an app account gets a new password or is deleted', async () => {
    const account = await createAppAccount(test, tenant);
    const logIn = (password: string) =>
      test.call('POST', '/api/v1/public/auth/login', { body: { ...loginOf(account), password } });
    expect((await logIn(account.password)).status).toBe(200);
    const body = { password: 'another password' };
    await expectChainsFree(`${sessions} '${account.id}'`, () =>
      test.call('POST', `${secure}/app-accounts/${account.id}/set-password`, { token, body }),
    );
    expect((await logIn(body.password)).status).toBe(200);
    await expectChainsFree(`${sessions} '${account.id}'`, () => remove(`app-accounts/${account.id}`));
  });

  it.each(['contact', 'space'])('when a %s is deleted with its links', async (deleted) => {
    const contactId = await created('contacts', { firstName: 'Ada', lastName: 'L' });
    const spaceId = await created('spaces', { name: unique('space') });
    const linked = await test.call('POST', `${secure}/spaces/${spaceId}/contacts`, { token, body: { contactId } });
    expect(linked.status).toBeLessThan(300);
    const id = deleted === 'contact' ? contactId : spaceId;
    await expectChainsFree('select from contact_links where tenant_id = $1', () => remove(`${deleted}s/${id}`));
  });

  it.each(['resource', 'space'])('when a code is put on a %s', async (type) => {
    const id = await created(`${type}s`, { name: unique(type) });
    const code = await created('qr-codes', {});
    await expectChainsFree(`select from ${type}s where tenant_id = $1 and id = '${id}'`, () =>
      test.call('POST', `${secure}/qr-codes/${code}/assign`, { token, body: { entity_type: type, entity_id: id } }),
    );
  });

  it('when a resource is put into a space', async () => {
    const id = await created('spaces', { name: unique('space') });
    const held = `select from spaces where tenant_id = $1 and id = '${id}'`;
    const body = { name: unique('resource'), space_id: id };
    await expectChainsFree(held, () => test.call('POST', `${secure}/resources`, { token, body }));
    const { space_id: _, ...elsewhere } = body;
    const resource = await created('resources', elsewhere);
    await expectChainsFree(held, () =>
      test.call('PATCH', `${secure}/resources/${resource}`, { token, body: { space_id: id } }),
    );
  });

  it.each(['resource', 'space'] as const)('when a %s gets a parent or a type', async (record) => {
    const path = `${secure}/${record}s`;
    const parent = await created(`${record}s`, { name: unique(record) });
    const definition = { entity_type: record, key: unique('type'), name: 'A type', json_schema: {} };
    const type = await created('type-definitions', definition);
    for (const [body, held] of [
      [{ parent_id: parent }, `select from ${record}s where tenant_id = $1 and id = '${parent}'`],
      [{ type_id: type }, `select from type_definitions where tenant_id = $1 and id = '${type}'`],
    ] as const) {
      await expectChainsFree(held, () => test.call('POST', path, { token, body: { name: unique(record), ...body } }));
      const id = await created(`${record}s`, { name: unique(record) });
      await expectChainsFree(held, () => test.call('PATCH', `${path}/${id}`, { token, body }));
    }
  });

  it('when preferences are changed or deleted', async () => {
    const path = 'notifications/preferences';
    const body = { preferences: [{ category: 'news', channel: 'email', enabled: true }] };
    const put = () => test.call('PATCH', `${secure}/${path}`, { token, body });
    const { id } = (await put()).body.data[0];
    const held = 'select from notification_preferences where tenant_id = $1';
    await expectChainsFree(held, put);
    await expectChainsFree(held, () => remove(`${path}/${id}`));
  });

  it('when a group is deleted with its members', async () => {
    await grant(test, tenant.tenantId, tenant.admin.userId, ['users.read']);
    const { rows } = await asOwner('select group_id from group_members where tenant_id = $1');
    await expectChainsFree('select from group_members where tenant_id = $1', () =>
      remove(`groups/${rows[0].group_id}`),
    );
  });
});

it('files and records with files are deleted concurrently in one chain without a deadlock', async () => {
  const { services } = test.service;
  const { tenantId, admin } = tenant;
  let attempts = 0;
  const transaction = <Result>(work: (tx: Transaction) => Promise<Result>) =>
    services.database.tenant(tenantId).transaction((tx) => {
      attempts += 1;
      return work(tx);
    });
  const request = { id: 'one for all', ip: '192.0.2.1', userAgent: null, receivedAt: 0 };
  const actor = { kind: 'user', id: admin.userId, userId: admin.userId, tenantId, isTenantAdmin: true, request };
  const scope = { services, actor: actor as Actor<Person>, db: { tenantId, transaction } as TenantDb };
  const contacts = await Promise.all(
    Array.from({ length: 5 }, () => created('contacts', { firstName: 'A', lastName: 'L' })),
  );
  for (const id of contacts) await storeFile(test, 'abc', { token, url: `${secure}/contacts/${id}/files` });
  const files = await Promise.all(Array.from({ length: 15 }, () => storeFile(test, 'abc', { token })));
  await Promise.all([...contacts.map((id) => deleteContact(scope, id)), ...files.map((id) => deleteFile(scope, id))]);
  expect(attempts).toBe(20);
});
