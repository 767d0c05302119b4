import pg from 'pg';

const dayMs = 24 * 60 * 60_000;
const daysAhead = 3;
const partitionName = /^application_logs_(\d{4})_(\d\d)_(\d\d)$/;

/**
 * Makes the partitions of the application log for the next days and drops those that are over: whole days, never row by row.
 * @param before what was logged earlier is no longer wanted; undefined keeps everything.
 * @returns the names of the partitions that were dropped.
 */
export async function keepLogPartitions(
  connection: pg.ClientConfig,
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
    await createLogPartitions(client, now);
    return before === undefined ? [] : await dropLogPartitions(client, before);
  } finally {
    await client.end();
  }
}

/** Partitions for today and the next days; lines outside of them go to the default partition. */
export async function createLogPartitions(client: pg.Client, now: Date): Promise<void> {
  // Both kinds of change lock the whole log for a moment; who logs must not queue up behind one that waits.
  await client.query(`set lock_timeout = '2s'`);
  const today = now.getTime() - (now.getTime() % dayMs);
  for (let ahead = 0; ahead <= daysAhead; ahead++) await createPartition(client, new Date(today + ahead * dayMs));
}

async function createPartition(client: pg.Client, from: Date): Promise<void> {
  const to = new Date(from.getTime() + dayMs);
  const name = `application_logs_${from.toISOString().slice(0, 10).replaceAll('-', '_')}`;
  const known = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
  if (known.rows[0]!.exists) return;
  try {
    await client.query(
      `create table if not exists ${name} partition of application_logs
         for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    );
  } catch (error) {
    // Lines of that day are in the default partition already, and its next ones may as well be; or the log is busy.
    if (!['23514', '55P03'].includes((error as { code?: string }).code ?? '')) throw error;
  }
}

async function dropLogPartitions(client: pg.Client, before: Date): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'application_logs'::regclass order by c.relname`,
  );
  const over = rows.map((row) => row.name).filter((name) => endOf(name) <= before.getTime());
  for (const name of over) await dropPartition(client, name);
  // Only what was logged while no partition was there for it: never much.
  await client.query('delete from application_logs_default where logged_at < $1', [before]);
  return over;
}

function endOf(name: string): number {
  const [, year, month, day] = partitionName.exec(name) ?? [];
  return year === undefined ? Infinity : Date.UTC(Number(year), Number(month) - 1, Number(day)) + dayMs;
}

async function dropPartition(client: pg.Client, name: string): Promise<void> {
  await client.query(`drop table if exists ${name}`);
}
