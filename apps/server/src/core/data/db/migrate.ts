import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';

import { sha256Hex } from '#core/base/crypto/secrets';
import { createDayPartitions } from '#core/data/db/day-partitions';
import { databaseRoles } from '#core/data/db/session';

/** Something about the database stops the start; the message is one line that says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError';
}

type Migration = { name: string; checksum: string; statements: string[] };

const oldestSupported = 150_000;
// Any number will do, as long as every Atrium takes the same one.
const migrationLock = 727_411_001;

/**
 * Brings the schema up to date: forward only, each file in its own transaction, one process at a time.
 * @returns what the start must know of the database.
 * @throws MigrationError when the server is too old, the login may not create roles, an applied file was changed, or the schema
 * is from before the baseline.
 */
export async function migrate(
  connection: pg.ClientConfig,
  directory: string,
): Promise<{ applied: string[]; isCitus: boolean; loginBypassesPolicies: boolean }> {
  const client = new pg.Client({ ...connection, application_name: 'atrium_migrate', connectionTimeoutMillis: 10_000 });
  // A connection that breaks is reported by the query under way; without a listener Node would exit first.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await assertSupportedServer(client);
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await createRoles(client);
    const applied = await applyMissing(client, await readMigrations(directory));
    await createAuditPartitions(client, new Date());
    await createDayPartitions(client, 'application_logs', new Date());
    await createDayPartitions(client, 'provider_calls', new Date());
    const facts = await client.query<{ citus: boolean; bypasses: boolean }>(
      `select exists (select 1 from pg_extension where extname = 'citus') as citus,
              (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as bypasses`,
    );
    return { applied, isCitus: facts.rows[0]!.citus, loginBypassesPolicies: facts.rows[0]!.bypasses };
  } finally {
    await client.end();
  }
}

async function assertSupportedServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: string; name: string }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as name`,
  );
  if (Number(rows[0]!.number) < oldestSupported) {
    throw new MigrationError(`PostgreSQL ${rows[0]!.name} is too old: Atrium needs version 15 or newer.`);
  }
}

async function createRoles(client: pg.Client): Promise<void> {
  for (const role of Object.values(databaseRoles)) {
    const known = await client.query('select 1 from pg_roles where rolname = $1', [role]);
    try {
      // Roles belong to the whole server, so another Atrium on it may be creating the same one right now.
      if (known.rowCount === 0) {
        await client.query(`create role ${role} nologin noinherit nosuperuser nobypassrls`).catch(ignoreDuplicate);
      }
      await client.query(`grant ${role} to current_user`);
    } catch (cause) {
      throw new MigrationError(
        `The database login may not create or take the role "${role}": grant it CREATEROLE, or create the roles ` +
          `${Object.values(databaseRoles).join(', ')} and grant them to it.`,
        { cause },
      );
    }
  }
}

function ignoreDuplicate(error: { code?: string }): void {
  if (error.code !== '42710' && error.code !== '23505') throw error;
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(directory, name), 'utf8');
      return { name, checksum: sha256Hex(text), statements: splitStatements(text) };
    }),
  );
}

async function applyMissing(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  await client.query(
    `create table if not exists schema_migrations (
       name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  );
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migrations',
  );
  const known = new Map(rows.map((row) => [row.name, row.checksum]));
  // Every released schema starts with the first file of the baseline.
  if (known.size > 0 && !known.has(migrations[0]?.name ?? '')) {
    throw new MigrationError(
      'The database has the schema of an unreleased version, which cannot be updated and was not changed: ' +
        'start with an empty data folder (DATA_DIR) or an empty database (DATABASE_URL).',
    );
  }
  const unknown = rows.find((row) => !migrations.some((migration) => migration.name === row.name));
  if (unknown !== undefined) {
    throw new MigrationError(
      `The database has migration ${unknown.name}, which this version does not know: start a newer Atrium.`,
    );
  }
  const applied: string[] = [];
  for (const migration of migrations) {
    const checksum = known.get(migration.name);
    if (checksum === undefined) {
      await apply(client, migration);
      applied.push(migration.name);
    } else if (checksum !== migration.checksum) {
      throw new MigrationError(
        `Migration ${migration.name} was changed after it had been applied: restore it and add a new one.`,
      );
    }
  }
  return applied;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    for (const text of migration.statements) await client.query(text);
    await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [
      migration.name,
      migration.checksum,
    ]);
    await client.query('commit');
  } catch (cause) {
    await client.query('rollback').catch(() => undefined);
    throw new MigrationError(`Migration ${migration.name} failed: ${(cause as Error).message}`, { cause });
  }
}

/** Cuts at a semicolon that ends a line, outside of $$ … $$. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let lines: string[] = [];
  let inBody = false;
  for (const line of text.split('\n')) {
    if (lines.length === 0 && (line.trim() === '' || line.startsWith('--'))) continue;
    lines.push(line);
    if ((line.match(/\$\$/g) ?? []).length % 2 === 1) inBody = !inBody;
    if (!inBody && line.trimEnd().endsWith(';')) {
      statements.push(lines.join('\n'));
      lines = [];
    }
  }
  if (lines.length > 0) throw new MigrationError(`A migration ends in the middle of a statement: ${lines[0]}`);
  return statements;
}

/** The same for a process that is already running, once in a while. */
export async function extendAuditPartitions(connection: pg.ClientConfig, now: Date): Promise<void> {
  const client = new pg.Client({
    ...connection,
    application_name: 'atrium_partitions',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await createAuditPartitions(client, now);
  } finally {
    await client.end();
  }
}

/** Partitions of the audit trail for this month and the next two; rows outside of them go to the default partition. */
async function createAuditPartitions(client: pg.Client, now: Date): Promise<void> {
  for (let ahead = 0; ahead < 3; ahead++) {
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
    const to = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead + 1, 1));
    const name = `audit_logs_${from.toISOString().slice(0, 7).replace('-', '_')}`;
    // Creating locks the whole trail for a moment: not on every start.
    const known = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
    if (known.rows[0]!.exists) continue;
    await client.query(
      `create table if not exists ${name} partition of audit_logs
         for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    );
  }
}
