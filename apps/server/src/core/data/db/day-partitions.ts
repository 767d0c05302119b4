import pg from 'pg';

const dayMs = 24 * 60 * 60_000;
const daysAhead = 3;

/** Tables with a partition for each day of UTC, and the column of time that they are cut by. */
export const dailyTables = {
  application_logs: 'logged_at',
  provider_calls: 'called_at',
} as const;

export type DailyTable = keyof typeof dailyTables;

/**
 * Makes the partitions of a table for the next days and drops those that are over: whole days, never row by row.
 * @param before what is older is no longer wanted; undefined keeps everything.
 * @returns the names of the partitions that were dropped.
 */
export async function keepDayPartitions(
  connection: pg.ClientConfig,
  table: DailyTable,
  { now, before }: { now: Date; before: Date | undefined },
): Promise<string[]> {
  const client = new pg.Client({
    ...connection,
    application_name: 'atrium_partitions',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await createDayPartitions(client, table, now);
    return before === undefined ? [] : await dropOldPartitions(client, table, before);
  } finally {
    await client.end();
  }
}

/** Partitions for today and the next days; rows outside of them go to the default partition. */
export async function createDayPartitions(client: pg.Client, table: DailyTable, now: Date): Promise<void> {
  // Both kinds of change lock the whole table for a moment; who writes must not queue up behind one that waits.
  await client.query(`set lock_timeout = '2s'`);
  const today = now.getTime() - (now.getTime() % dayMs);
  for (let ahead = 0; ahead <= daysAhead; ahead++) {
    await createPartition(client, table, new Date(today + ahead * dayMs));
  }
}

async function createPartition(client: pg.Client, table: DailyTable, from: Date): Promise<void> {
  const to = new Date(from.getTime() + dayMs);
  const name = `${table}_${from.toISOString().slice(0, 10).replaceAll('-', '_')}`;
  const known = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
  if (known.rows[0]!.exists) return;
  try {
    await client.query(
      `create table if not exists ${name} partition of ${table}
         for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    );
  } catch (error) {
    // Rows of that day are in the default partition already, and its next ones may as well be; or the table is busy.
    if (!['23514', '55P03'].includes((error as { code?: string }).code ?? '')) throw error;
  }
}

async function dropOldPartitions(client: pg.Client, table: DailyTable, before: Date): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass order by c.relname`,
    [table],
  );
  const over = rows.map((row) => row.name).filter((name) => endOf(table, name) <= before.getTime());
  for (const name of over) await dropPartition(client, name);
  await cleanDefaultPartition(client, table, before);
  return over;
}

/** When the day of a partition ends; never for the default one. */
function endOf(table: DailyTable, name: string): number {
  const [, year, month, day] = /_(\d{4})_(\d\d)_(\d\d)$/.exec(name) ?? [];
  if (year === undefined || !name.startsWith(table)) return Infinity;
  return Date.UTC(Number(year), Number(month) - 1, Number(day)) + dayMs;
}

async function dropPartition(client: pg.Client, name: string): Promise<void> {
  await client.query(`drop table if exists ${name}`);
}

/** Only what was written while no partition was there for it: never much. */
async function cleanDefaultPartition(client: pg.Client, table: DailyTable, before: Date): Promise<void> {
  await client.query(`delete from ${table}_default where ${dailyTables[table]} < $1`, [before]);
}
