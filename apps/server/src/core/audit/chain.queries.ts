import { sql, type RawBuilder } from 'kysely';

/** How many chains a tenant's trail consists of at most: writers of one wait for each other's commit. */
export const chainSlots = 32;

/**
 * The chain that a request writes to. All rows of a request go into one: two requests that wrote to several chains each
 * could wait for each other in a circle.
 */
export function chainSlot(requestId: string): number {
  let sum = 0;
  for (let at = 0; at < requestId.length; at++) sum = (Math.imul(sum, 31) + requestId.charCodeAt(at)) | 0;
  return (sum >>> 0) % chainSlots;
}

type Column = RawBuilder<unknown>;

const text = (column: Column) => sql`coalesce(octet_length(${column})::text || ':' || ${column}, '-')`;
const uuid = (column: Column) => sql`coalesce('36:' || ${column}::text, '-')`;
const time = (column: Column) => text(sql`((extract(epoch from ${column}) * 1000)::bigint)::text`);
// At the end and without a length, as to write jsonb twice is most of what a digest would cost.
const json = (column: Column) => sql`coalesce(${column}::text, '-')`;

const contents: readonly [name: string, format: (column: Column) => Column][] = [
  ['tenant_id', uuid],
  ['created_at', time],
  ['id', uuid],
  ['user_id', uuid],
  ['action', text],
  ['resource_type', text],
  ['resource_id', uuid],
  ['ip_address', text],
  ['user_agent', text],
  ['details', json],
];

/**
 * SHA-256 over the content of an audit row: each column in this order as `<bytes>:<text>`, or `-` where it is null; the
 * time in milliseconds since 1970; at the end details as PostgreSQL writes jsonb, without a length. Nothing in it depends on
 * zone or locale.
 * @param source what the columns are read from, in the statement that this becomes part of.
 */
export function contentDigest(source: 'event' | 'audit_logs'): RawBuilder<Buffer> {
  const fields = contents.map(([name, format]) => format(sql.ref(`${source}.${name}`)));
  return sql<Buffer>`sha256(convert_to(${sql.join(fields, sql` || `)}, 'UTF8'))`;
}
