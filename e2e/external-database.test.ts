import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { newTenant } from './support/client.ts';
import { Workplace } from './support/service.ts';
import { comeBack, walk } from './support/walk.ts';

// It starts processes.
vi.setConfig({ testTimeout: 120_000 });

const serverUrl = process.env['ATRIUM_E2E_DATABASE_URL'];

// Needs a PostgreSQL whose login may create databases and roles; the suite makes and drops its own.
describe.runIf(serverUrl !== undefined)('a database of the operator', () => {
  const workplace = new Workplace();
  const database = `atrium_e2e_${randomBytes(6).toString('hex')}`;
  const rolesQuery = `select rolname from pg_roles where rolname in ('atrium_tenant', 'atrium_platform', 'atrium_credential', 'atrium_purge')`;
  let server: pg.Client;
  let rolesBefore: string[] = [];

  const roles = async () => (await server.query<{ rolname: string }>(rolesQuery)).rows.map((row) => row.rolname);

  beforeAll(async () => {
    server = new pg.Client({ connectionString: serverUrl! });
    await server.connect();
    rolesBefore = await roles();
    await server.query(`create database ${database}`);
  });

  afterAll(async () => {
    await workplace.clear();
    await server.query(`drop database ${database} with (force)`);
    for (const role of await roles()) {
      // Another Atrium on the same server may use them meanwhile; then they stay.
      if (!rolesBefore.includes(role)) await server.query(`drop role ${role}`).catch(() => undefined);
    }
    await server.end();
  });

  it('serves and restarts with DATABASE_URL and ENCRYPTION_KEY only', async () => {
    const url = new URL(serverUrl!);
    url.pathname = `/${database}`;
    const env = { DATABASE_URL: url.href, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir, env });
    await walk(first.base);
    const { client, email } = await newTenant(first.base);
    const id = await client.createContact('Kept');
    expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    const second = await workplace.start({ dataDir, env });
    const again = await comeBack(second.base, email);
    expect((await again.get(`/api/v1/secure/contacts/${id}`)).status).toBe(200);
    expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
