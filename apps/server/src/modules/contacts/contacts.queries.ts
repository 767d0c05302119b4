import { sql, type SelectQueryBuilder } from 'kysely';

import { auditOfDone } from '#core/data/audit/audit.queries';
import { insertRow, updateRow, type Update } from '#core/data/audit/audited-rows.queries';
import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import { deleteById, json, lockById, rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { containsWords, prepareSearch, type Search } from '#core/data/db/search';
import { countMatches } from '#core/data/db/totals';

export const contacts = tenantTable('contacts', {
  tenant_id: uuid,
  id: uuid,
  first_name: text.orNull,
  middle_name: text.orNull,
  last_name: text.orNull,
  email: text.orNull,
  phone: text.orNull,
  url: text.orNull,
  address: json.orNull,
  notes: text.orNull,
  created_at: time,
  updated_at: time,
  created_by: uuid.orNull,
  updated_by: uuid.orNull,
});
export type ContactRow = RowOf<typeof contacts>;

export type ContactsTables = { contacts: ContactRow & { phone_digits: string | null; search_text: string } };

const builder = queryBuilder<ContactsTables>();

export const findContact = rowById(contacts);

/** The contact is not deleted before the link exists. */
export const shareContact = lockById(contacts, 'for key share');

/** Waits for links and files that are being added. */
export const lockContact = lockById(contacts, 'for update', 'id');

export const insertContact = insertRow(contacts, { action: 'contact.created', resourceType: 'contact' });

export type ContactChanges = Partial<Omit<ContactRow, 'tenant_id' | 'id' | 'created_at' | 'created_by'>>;

export const updateContact: Update<ContactChanges, ContactRow> = updateRow(contacts, {
  action: 'contact.updated',
  resourceType: 'contact',
});

export const deleteContact = deleteById(contacts);

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
  let query = filtered(tenantId, filters).select(contacts.columns);
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
