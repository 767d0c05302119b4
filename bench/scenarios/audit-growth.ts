import pg from 'pg';

import type { Scenario } from '../scenario.ts';
import { compareSizes } from '../two-sizes.ts';

const rowsPerTenant = 1000;
const fewRows = 10_000;
const manyRows = { quick: 1_000_000, full: 50_000_000 };
const rowsAtOnce = 4;

/** The audit trail of one tenant with 1,000 rows, alone with 9 others and among millions of rows. */
export const auditGrowth: Scenario = {
  name: 'audit-growth',
  run: (bench) =>
    compareSizes(bench, {
      name: 'audit',
      few: fewRows,
      many: manyRows[bench.named.includes('audit-growth') && !bench.isQuick ? 'full' : 'quick'],
      fill,
      probes: [
        { name: 'list the audit trail', paths: () => ['/audit-logs?limit=50'] },
        {
          name: 'audit rows of an action',
          paths: () => ['b', 'f', 'k', 'x'].map((letter) => `/audit-logs?action=bench.${letter}`),
        },
        { name: 'audit rows of kinds of actions', paths: () => ['/audit-logs?limit=50&action=bench.*'] },
        {
          name: 'audit rows of an address',
          paths: () => [1, 2, 3, 4].map((at) => `/audit-logs?ip_address=10.0.0.${at}`),
        },
        {
          name: 'audit rows of an unknown user',
          paths: () => ['/audit-logs?user_id=00000000-0000-7000-8000-000000000000'],
        },
      ],
      atMost: 1.25,
      describe: (rows) => `${rows.toLocaleString('en')} rows`,
    }),
};

/** Adds rows of the last weeks, with the users interleaved. @returns the size of the database in MB. */
async function fill(connection: pg.ClientConfig, tenantId: string, rows: number): Promise<number> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query('set synchronous_commit = off');
    await client.query(`set maintenance_work_mem = '512MB'`);
    await client.query(
      `create temp table audited as
       select k, case k when 0 then $1::uuid else uuidv7(make_interval(mins => k - $2 / 2)) end as id
         from generate_series(0, $2::integer - 1) k`,
      [tenantId, rows / rowsPerTenant],
    );
    await withoutIndexes(client, async () => {
      for (let from = 1; from <= rowsPerTenant; from += rowsAtOnce) {
        await client.query(insertRows, [from, from + rowsAtOnce - 1]);
      }
    });
    await client.query('vacuum analyze audit_logs');
    await client.query('checkpoint');
    const size = await client.query<{ mb: number }>(
      'select (pg_database_size(current_database()) / 1000000)::integer as mb',
    );
    return size.rows[0]!.mb;
  } finally {
    await client.end();
  }
}

/** To build indexes of rows that are there takes a fraction of the time that it takes to keep them up to date row by row. */
async function withoutIndexes(client: pg.Client, work: () => Promise<void>): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string; key: string | null }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition,
            (select pg_get_constraintdef(oid) from pg_constraint where conindid = indexrelid) as key
       from pg_index where indrelid = 'audit_logs'::regclass`,
  );
  for (const { name, key } of indexes)
    await client.query(key === null ? `drop index ${name}` : `alter table audit_logs drop constraint ${name}`);
  await work();
  for (const { name, definition, key } of indexes)
    await client.query(
      key === null ? definition.replace(' ON ONLY ', ' ON ') : `alter table audit_logs add constraint ${name} ${key}`,
    );
}

const insertRows = `
  insert into audit_logs (tenant_id, created_at, id, user_id, action, resource_type, resource_id, details, ip_address)
  select t.id, now() - make_interval(mins => (${rowsPerTenant} - n) * 20), uuidv7(make_interval(mins => n - ${rowsPerTenant})),
         md5((n % 7)::text || t.k)::uuid, 'bench.' || chr(97 + n % 26), 'bench', md5((n * 31 + t.k)::text)::uuid,
         jsonb_build_object('fields', jsonb_build_array('name', 'description')), '10.0.' || n % 3 || '.' || n % 20
    from generate_series($1::integer, $2::integer) n cross join audited t`;
