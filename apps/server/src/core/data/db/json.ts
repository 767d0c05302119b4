import { sql, type RawBuilder } from 'kysely';

/** A column of JSON by key: what is given takes the place of what is there, null removes it, all else stays. */
export function mergedJson<Value>(
  column: string,
  changes: Readonly<Record<string, Value | null>>,
): RawBuilder<Record<string, Value>> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
  const removed = Object.keys(changes).filter((key) => changes[key] === null);
  return sql`(${sql.ref(column)} || ${given}::jsonb) - ${removed}::text[]`;
}
