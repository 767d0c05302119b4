import { sql, type SelectQueryBuilder } from 'kysely';

import { auditOfDone, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { containsWords, prepareSearch, type Search } from '#core/data/db/search';
import { countMatches } from '#core/data/db/totals';

type Address = Record<string, unknown>;

export type ContactRow = {
  tenant_id: string;
  id: string;
  first_name: string | null;
  middle_name: string | null;
  last_name: string | null;
  email: string | null;
  phone: string | null;
  url: string | null;
  address: Address | null;
  notes: string | null;
  created_at: string;
  updated_at: string;
  created_by: string | null;
  updated_by: string | null;
};

export type ContactsTables = { contacts: ContactRow & { phone_digits: string | null; search_text: string } };

const builder = queryBuilder<ContactsTables>();

export const contactColumns = [
  'tenant_id',
  'id',
  'first_name',
  'middle_name',
  'last_name',
  'email',
  'phone',
  'url',
  'address',
  'notes',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
] as const;

export const findContact = read<{ tenantId: string; id: string }, ContactRow>((p) =>
  builder.selectFrom('contacts').select(contactColumns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locks the contact until the transaction ends, so that it is not deleted before the link exists. */
export const shareContact = lock<{ tenantId: string; id: string }, ContactRow>((p) =>
  builder
    .selectFrom('contacts')
    .select(contactColumns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forKeyShare(),
);

/** Locks the contact until the transaction ends, and waits for links and files that are being added. */
export const lockContact = lock<{ tenantId: string; id: string }, { id: string }>((p) =>
  builder.selectFrom('contacts').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forUpdate(),
);

export const insertContact = auditedWrite<ContactRow & AuditParams, ContactRow>((p) => {
  const row = Object.fromEntries(contactColumns.map((name) => [name, p[name]])) as ContactRow;
  const change = builder
    .insertInto('contacts')
    .values(row as never)
    .returning(contactColumns);
  return withAudit<ContactRow>(
    change,
    { action: 'contact.created', resourceType: 'contact', counts: { table: 'contacts', by: 1 } },
    p,
  );
});

export type ContactChanges = Partial<Omit<ContactRow, 'tenant_id' | 'id' | 'created_at' | 'created_by'>>;

export function updateContact(id: string, changes: ContactChanges, audit: AuditParams): WriteStatement<ContactRow> {
  const change = builder
    .updateTable('contacts')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning(contactColumns);
  return toAuditedWrite(withAudit<ContactRow>(change, { action: 'contact.updated', resourceType: 'contact' }, audit));
}

export const deleteContact = write<{ tenantId: string; id: string }, never>((p) =>
  builder.deleteFrom('contacts').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const recordDeletion = auditOfDone({
  action: 'contact.deleted',
  resourceType: 'contact',
  counts: { table: 'contacts', by: -1 },
});

export type ContactFilters = {
  search?: Search | undefined;
  email?: string | undefined;
  phone?: string | undefined;
  city?: string | undefined;
};

export type ContactOrder = {
  column: 'created_at' | 'updated_at' | 'last_name' | 'first_name' | 'email';
  descending: boolean;
};

type ContactSelect = SelectQueryBuilder<ContactsTables, 'contacts', object>;

/** The default order is the order of creation: ids are UUIDv7, so the primary key provides it. */
export function listContacts(
  tenantId: string,
  filters: ContactFilters,
  page: { limit: number; offset: number; order: ContactOrder | undefined },
): ReadStatement<ContactRow> {
  const { column, descending } = page.order ?? { column: 'created_at', descending: true };
  const direction = descending ? 'desc' : 'asc';
  let query = filtered(tenantId, filters).select(contactColumns);
  if (column === 'updated_at') query = query.orderBy(column, direction);
  // Ignores case, and puts contacts without a value last in both directions.
  else if (column !== 'created_at') {
    query = query.orderBy(sql`lower(${sql.ref(column)})`, (order) =>
      descending ? order.desc().nullsLast() : order.asc().nullsLast(),
    );
  }
  return prepareSearch(toRead(query.orderBy('id', direction).limit(page.limit).offset(page.offset)), filters);
}

/** Counts up to one more than the largest exact total. */
export function countContacts(tenantId: string, filters: ContactFilters): ReadStatement<{ total: number }> {
  return prepareSearch(countMatches(filtered(tenantId, filters).select('id')), filters);
}

function filtered(tenantId: string, filters: ContactFilters): ContactSelect {
  let query: ContactSelect = builder.selectFrom('contacts').where('tenant_id', '=', tenantId);
  for (const condition of containsWords(filters.search, { table: 'contacts', tenantId }))
    query = query.where(condition);
  // PostgreSQL converts both sides to lower case, because its rules differ from JavaScript's, as for a final sigma.
  if (filters.email !== undefined) query = query.where(sql`lower(email)`, '=', sql`lower(${filters.email})`);
  if (filters.phone !== undefined) {
    // The partial index contains only contacts with a phone number, so the query repeats this condition.
    query = query
      .where('phone', 'is not', null)
      .where('phone_digits', '=', sql<string>`regexp_replace(${filters.phone}, '\\D', '', 'g')`);
  }
  if (filters.city !== undefined) query = query.where(sql`lower(address ->> 'city')`, '=', sql`lower(${filters.city})`);
  return query;
}
