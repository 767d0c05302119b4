import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { reconcileStorage, sweepFiles } from '#modules/storage/cleaning.service';
import { expectSettled, files, ledgerOf, storeFile } from '#modules/storage/testing/uploads';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Starts processes and kills them.
vi.setConfig({ testTimeout: 120_000 });

const { signal } = new AbortController();
const folder = await mkdtemp(path.join(tmpdir(), 'atrium-sweep-'));
const test = useService({ ownDatabase: true, environment: { DATA_DIR: folder } });
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (tenantId: string, text: string, values: unknown[] = []) =>
  test.service.services.database
    .tenant(tenantId)
    .interactive.all({ kind: 'write', text, values: [tenantId, ...values], prepare: false });

const sweep = () => sweepFiles(test.service.services, signal);

const objectsOf = async (tenantId: string) => (await readdir(path.join(folder, 'files', tenantId))).toSorted();

describe('kill -9 in the middle of uploads', () => {
  it('keeps acknowledged files, and the next process releases the rest', async () => {
    const tenant = await createTenant(test);
    const kept = await storeFile(test, 'kept', { token: tenant.admin.token });
    const key = '00112233445566778899aabbccddeeff102132435465768798a9babbdcddeeff';
    const { host, port: dbPort, user, password, database } = test.connection;
    const at = `${encodeURIComponent(String(user))}:${encodeURIComponent(String(password ?? ''))}`;
    const url = `postgres://${at}@localhost/${database}?host=${encodeURIComponent(String(host))}&port=${dbPort ?? 5432}`;
    const main = new URL('../../app/main.ts', import.meta.url).pathname;
    const env = { DATABASE_URL: url, ENCRYPTION_KEY: key, DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'warn' };
    const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await vi.waitFor(() => expect(output).toMatch(/serves on http:\S+/), { timeout: 30_000 });
    const base = new URL(/serves on (http:\S+)/.exec(output)![1]!);
    const { email, password: secret } = tenant.admin;
    const login = await fetch(new URL('/api/v1/public/auth/login', base), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: secret }),
    });
    const { accessToken: token } = (await login.json()) as { accessToken: string };
    const whole = await fetch(new URL(`${files}?name=whole`, base), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
      body: 'whole',
    });
    expect(whole.status).toBe(201);
    const sockets = Array.from({ length: 5 }, () => {
      const socket = connect(Number(base.port), '127.0.0.1').on('error', () => undefined);
      socket.write(
        `POST ${files}?name=half HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 900000\r\n\r\n${'x'.repeat(100_000)}`,
      );
      return socket;
    });
    await vi.waitUntil(
      async () => (await objectsOf(tenant.tenantId)).filter((name) => name.endsWith('.part')).length === 5,
      { timeout: 20_000 },
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const socket of sockets) socket.destroy();
    expect((await ledgerOf(test, tenant.tenantId)).counters).toEqual({ usage: 9, reserved: 4_500_000 });
    // Leases that have not expired belong to processes that may be alive.
    expect(await sweep()).toBe(0);
    await run(
      tenant.tenantId,
      `update files set lease_until = now() - interval '1 s' where tenant_id = $1 and status <> 'stored'`,
    );
    expect(await sweep()).toBe(5);
    await expectSettled(test, tenant, [4, 5]);
    const { rows } = await ledgerOf(test, tenant.tenantId);
    expect(await objectsOf(tenant.tenantId)).toEqual(rows.map(({ id }) => id).toSorted());
    expect(rows.map(({ id }) => id)).toContain(kept);
  }, 120_000);
});

describe('sweepFiles', () => {
  it('completes deletions, and concurrent sweeps count nothing twice', async () => {
    const tenant = await createTenant(test);
    const id = newId();
    await storeFile(test, 'x', { token: tenant.admin.token });
    await run(
      tenant.tenantId,
      `insert into files (tenant_id, id, name, content_type, size_bytes, status, lease_until, created_at, updated_at)
       values ($1, $2, 'x', 'text/plain', 50, 'uploading', now() - interval '1 s', now(), now())`,
      [id],
    );
    await run(tenant.tenantId, 'update tenant_storage set reserved_bytes = 50 where tenant_id = $1');
    const counts = await Promise.all(Array.from({ length: 5 }, sweep));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    await expectSettled(test, tenant, [1]);
  });
});

describe('a tenant whose rows fail', () => {
  it('does not stop sweepFiles for other tenants, and sweepFiles ends', async () => {
    const [stuck, fine] = [await createTenant(test), await createTenant(test)];
    const insert = (count: number, age: string) =>
      `insert into files (tenant_id, id, name, content_type, size_bytes, status, lease_until, created_at, updated_at)
       select $1, gen_random_uuid(), 'x', 'text/plain', 50, 'uploading', now() - interval '${age}', now(), now()
       from generate_series(1, ${count})`;
    for (const { admin } of [stuck, fine]) await storeFile(test, 'x', { token: admin.token });
    // More than a batch of uploads without reserved space: the counter would fall below zero.
    await run(stuck.tenantId, insert(501, '1 minute'));
    await run(fine.tenantId, insert(1, '1 second'));
    await run(fine.tenantId, insert(1, '2 minutes'));
    await run(fine.tenantId, 'update tenant_storage set reserved_bytes = 100 where tenant_id = $1');
    expect(await sweep()).toBe(1);
    await run(stuck.tenantId, `delete from files where tenant_id = $1 and status = 'uploading'`);
    expect(await sweep()).toBe(1);
    await expectSettled(test, fine, [1]);
    expect(test.logLines.some((line) => line.includes('could not be removed; a job will retry'))).toBe(true);
  });

  it('does not stop reconcileStorage for other tenants', async () => {
    const tenants = [await createTenant(test), await createTenant(test), await createTenant(test)];
    const stuck = tenants[1]!;
    for (const { tenantId, admin } of tenants) {
      await storeFile(test, 'xxx', { token: admin.token });
      await run(tenantId, 'update tenant_storage set usage_bytes = 77 where tenant_id = $1');
    }
    // The sum exceeds the range of the database type.
    const huge = `update files set size_bytes = 9000000000000000000 where tenant_id = $1`;
    await storeFile(test, 'xxx', { token: stuck.admin.token });
    await run(stuck.tenantId, huge);
    const repaired = await reconcileStorage(test.service.services, signal);
    expect(repaired.toSorted()).toEqual([tenants[0]!.tenantId, tenants[2]!.tenantId].toSorted());
    expect(test.logLines.some((line) => line.includes('could not be compared'))).toBe(true);
    await run(stuck.tenantId, 'delete from files where tenant_id = $1');
    await reconcileStorage(test.service.services, signal);
  });
});

describe('reconcileStorage', () => {
  it('corrects wrong counters, reports them, and leaves all others unchanged', async () => {
    const [wrong, right] = [await createTenant(test), await createTenant(test)];
    for (const { admin } of [wrong, right]) await storeFile(test, 'xxx', { token: admin.token });
    await run(wrong.tenantId, 'update tenant_storage set usage_bytes = 77, reserved_bytes = 5 where tenant_id = $1');
    expect(await reconcileStorage(test.service.services, signal)).toEqual([wrong.tenantId]);
    await expectSettled(test, wrong, [3]);
    await expectSettled(test, right, [3]);
    expect(
      test.logLines.filter((line) => line.includes('counters of a tenant were wrong') && line.includes(wrong.tenantId)),
    ).toHaveLength(1);
    expect(await reconcileStorage(test.service.services, signal)).toEqual([]);
  });
});

describe('an aborted sweep', () => {
  it('stops before the next file or tenant', async () => {
    const tenant = await createTenant(test);
    await storeFile(test, 'xxx', { token: tenant.admin.token });
    await run(tenant.tenantId, 'update tenant_storage set usage_bytes = 77, reserved_bytes = 50 where tenant_id = $1');
    await run(
      tenant.tenantId,
      `insert into files (tenant_id, id, name, content_type, size_bytes, status, lease_until, created_at, updated_at)
       values ($1, gen_random_uuid(), 'x', 'text/plain', 50, 'uploading', now() - interval '1 s', now(), now())`,
    );
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(sweepFiles(test.service.services, stopped)).rejects.toThrow('enough');
    await expect(reconcileStorage(test.service.services, stopped)).rejects.toThrow('enough');
    expect(await sweep()).toBe(1);
    expect(await reconcileStorage(test.service.services, signal)).toEqual([tenant.tenantId]);
  });
});
