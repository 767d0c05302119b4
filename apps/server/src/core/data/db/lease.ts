import { sql, type RawBuilder } from 'kysely';

/** The clock of leases: the clocks of processes differ, and one with a fast clock would claim what others hold. */
export const databaseNow = sql<string>`now()`;

/** So many milliseconds from now, such as the end of a lease. */
export const fromNow = (ms: number | RawBuilder<unknown>, now = databaseNow): RawBuilder<string> =>
  sql`${now} + ${ms}::float8 * interval '1 millisecond'`;

/** The lease has ended without being given back; indexes of `lease_until` match the condition. */
export const isLeaseOver = sql<boolean>`lease_until <= ${databaseNow}`;

/** The lease has ended, or was given back. */
export const isUnleased = (column = 'lease_until', now = databaseNow): RawBuilder<boolean> =>
  sql`(${sql.ref(column)} is null or ${sql.ref(column)} <= ${now})`;
