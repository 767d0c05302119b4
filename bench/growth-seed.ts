import pg from 'pg';

export const growthTables = ['contacts', 'spaces'] as const;
export type GrowthTable = (typeof growthTables)[number];

/** Rows of the tenant that is measured; one row in five is a space. */
export const measuredRows: Readonly<Record<GrowthTable, number>> = { contacts: 800, spaces: 200 };

const largestTenant = 1800;
// Few enough that the rows of a tenant lie between those of all others, as if they had come in over the same years.
const rowsAtOnce = 4;

/** A database filled up to so many tenants, with 1,000 rows each on average. @returns its size in MB. */
export async function grow(connection: pg.ClientConfig, tenantId: string, tenants: number): Promise<number> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    // Foreign keys would be checked row by row; what is written here refers to nothing.
    await client.query('set session_replication_role = replica');
    await client.query(`set synchronous_commit = off`);
    await client.query(`set maintenance_work_mem = '512MB'`);
    await addTenants(client, tenantId, tenants);
    const indexes = await dropIndexes(client);
    for (let from = 1; from <= largestTenant; from += rowsAtOnce) {
      const range = [from, from + rowsAtOnce - 1];
      await client.query(insertContacts, range);
      await client.query(insertSpaces, range);
    }
    for (const definition of indexes) await client.query(definition);
    for (const table of growthTables) await client.query(countRows(table));
    for (const table of [...growthTables, 'tenants', 'row_counts']) await client.query(`vacuum analyze ${table}`);
    await client.query('checkpoint');
    const { rows } = await client.query<{ mb: number }>(
      'select (pg_database_size(current_database()) / 1000000)::integer as mb',
    );
    return rows[0]!.mb;
  } finally {
    await client.end();
  }
}

/** The measured tenant in the middle of all, the others of 200 to 1,800 rows. */
async function addTenants(client: pg.Client, tenantId: string, tenants: number): Promise<void> {
  await client.query(
    `create temp table grown as
     select k, case k when 0 then $1::uuid else uuidv7(make_interval(mins => k - $2 / 2)) end as id,
            case k when 0 then 1000 else 200 + 200 * (k % 9) end as amount
       from generate_series(0, $2::integer - 1) k`,
    [tenantId, tenants],
  );
  await client.query(
    `insert into tenants (id, name, domain) select id, 'Tenant ' || k, 'tenant-' || k from grown where k > 0`,
  );
}

/** Building an index over all rows takes a fraction of keeping it while they come in. @returns how to make them again. */
async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
       from pg_index i
      where i.indrelid = any ($1::regclass[]) and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [growthTables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

const insertContacts = `
  insert into contacts (tenant_id, id, first_name, last_name, email, phone, address, notes, created_at, updated_at)
  select t.id, uuidv7(make_interval(mins => n - ${largestTenant})), 'First ' || (n * 7919 + k * 31) % 5003,
         'Last ' || (n * 104729 + k * 17) % 9973, 'contact-' || n || '@tenant-' || k || '.example',
         '+49 30 ' || 1000000 + (n * 7907 + k * 13) % 8999999,
         jsonb_build_object('street', 'Main Street ' || n, 'city', 'City ' || (n + k) % 211, 'country_code', 'DE'),
         'Met at the fair, wants to hear from us again.', now(), now()
    from generate_series($1::integer, $2::integer) n join grown t on n <= t.amount and n % 5 <> 0`;

const insertSpaces = `
  insert into spaces (tenant_id, id, name, description, capacity, created_at, updated_at)
  select t.id, uuidv7(make_interval(mins => n - ${largestTenant})), 'Room ' || (n * 7919 + k * 31) % 5003,
         'Floor ' || (n + k) % 29 || ', wing ' || (n * 31 + k) % 13, n % 40, now(), now()
    from generate_series($1::integer, $2::integer) n join grown t on n <= t.amount and n % 5 = 0`;

const countRows = (table: GrowthTable) => `
  insert into row_counts (tenant_id, table_name, slot, amount)
  select tenant_id, '${table}', 0, count(*) from ${table} group by tenant_id`;
