import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

import { modules } from '#app/modules';
import { listActions, type AuditAction } from '#modules/audit-logs/actions.service';
import { createMember, createTenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const url = '/api/v1/secure/audit-logs/actions';
const source = path.resolve(import.meta.dirname, '../..');

it('200: every declared action, once for each kind of record', async () => {
  const { admin } = await createTenant(test);
  const { status, body } = await test.call('GET', url, { token: admin.token });
  expect(status).toBe(200);
  const names = body.data.map(({ action }: { action: string }) => action);
  const declared = modules
    .flatMap(({ routes }) => routes)
    .flatMap(({ audit }) => (typeof audit === 'string' ? [audit] : []));
  expect(names).toEqual(names.toSorted());
  const pairs = body.data.map((one: AuditAction) => `${one.action} ${one.resource_type}`);
  expect(new Set(pairs).size).toBe(pairs.length);
  expect(names).toEqual(expect.arrayContaining(declared));
  expect(body.data).toContainEqual({ action: 'auth.login', resource_type: 'session', description: expect.any(String) });
});

/** Actions in the source, and their record type if the same expression has it. */
async function actionsInSource(): Promise<{ action: string; type: string | undefined }[]> {
  const found = [];
  for await (const file of glob('{core,modules}/**/*.ts', { cwd: source })) {
    if (file.endsWith('.test.ts') || file.includes('/testing/')) continue;
    const text = await readFile(path.join(source, file), 'utf8');
    for (const [, action, type] of text.matchAll(/action: '([a-z_]+\.[a-z_]+)'(?:,\s+resourceType: '([a-z_]+)')?/g)) {
      found.push({ action: action!, type });
    }
  }
  return found;
}

it('lists every action that the source writes, with its record type', async () => {
  const known = new Map(listActions(modules.flatMap(({ routes }) => routes)).map((one) => [one.action, one]));
  const written = await actionsInSource();
  expect(written.length).toBeGreaterThan(60);
  for (const { action, type } of written) {
    const { resource_type: found } = known.get(action) ?? {};
    expect([action, found]).toEqual([action, type ?? expect.any(String)]);
  }
});

it('401 without credentials, 403 for members without the permission', async () => {
  const tenant = await createTenant(test);
  expectError(await test.call('GET', url), 401, 'AUTHENTICATION_ERROR');
  const { token } = await createMember(test, tenant, { permissions: ['users.read'] });
  expectError(await test.call('GET', url, { token }), 403, 'AUTHORIZATION_ERROR');
});
