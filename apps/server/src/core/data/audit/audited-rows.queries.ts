import type { RawBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, toAuditedWrite, type Built, type WriteStatement } from '#core/data/db/query';
import type { TenantTable } from '#core/data/db/rows';
import { isCounted } from '#core/data/db/totals';

type Event = { action: string; resourceType: string };
type NameOf<Row> = keyof Row & string;

const builder = queryBuilder<Record<string, Record<string, unknown>>>();

// A table whose rows are counted is named by its table alone, so that no statement can forget the count.
function eventOf(event: Event, table: string, by: 1 | -1) {
  return isCounted(table) ? { ...event, counts: { table, by } } : event;
}

/** Inserts a row and its audit row, which name the same tenant. @param names of the columns to return, all if none is given */
export function insertRow<Row extends { tenant_id: string }, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  event: Event,
  ...names: readonly Name[]
): (row: Omit<Row, 'tenant_id'> & AuditParams) => WriteStatement<Pick<Row, Name>> {
  return auditedWrite((p) => {
    const values: Readonly<Record<string, unknown>> = p;
    const row = Object.fromEntries(table.columns.map((name) => [name, values[name]]));
    const change = builder
      .insertInto(table.name)
      .values({ ...row, tenant_id: p.tenantId })
      .returning(names.length > 0 ? names : table.columns);
    return withAudit(change as unknown as Built<Pick<Row, Name>>, eventOf(event, table.name, 1), p);
  });
}

type Changes<Row> = { readonly [Name in Exclude<keyof Row, 'tenant_id' | 'id'>]?: Row[Name] | RawBuilder<Row[Name]> };

export type Update<Given, Row> = (id: string, changes: Given, audit: AuditParams) => WriteStatement<Row>;

/** Changes a row and records it. @param names of the columns to return, all if none is given */
export function updateRow<Row, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  event: Event,
  ...names: readonly Name[]
): Update<Changes<Row>, Pick<Row, Name>> {
  return (id, changes, audit) => {
    const change = builder
      .updateTable(table.name)
      .set(changes)
      .where('tenant_id', '=', audit.tenantId)
      .where('id', '=', id)
      .returning(names.length > 0 ? names : table.columns);
    return toAuditedWrite(withAudit(change as unknown as Built<Pick<Row, Name>>, event, audit));
  };
}

/** Deletes a row by its id and records it. */
export function deleteRow(
  { name }: { readonly name: string },
  event: Event,
): (p: { id: string } & AuditParams) => WriteStatement<{ id: string }> {
  return auditedWrite((p) => {
    const change = builder.deleteFrom(name).where('tenant_id', '=', p.tenantId).where('id', '=', p.id).returning('id');
    return withAudit(change as unknown as Built<{ id: string }>, eventOf(event, name, -1), p);
  });
}
