import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { planSearch } from '#core/data/db/search';
import { pageOfMatches, pageOfTable } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { ContactNotFound } from '#modules/contacts/contacts.errors';
import {
  countContacts,
  deleteContact as deleteContactRow,
  findContact,
  insertContact,
  lockContact,
  listContacts as listContactRows,
  recordDeletion,
  updateContact as updateContactRow,
  type ContactChanges,
  type ContactRow,
} from '#modules/contacts/contacts.queries';
import type {
  Contact,
  CreateContactBody,
  ListContactsQuery,
  UpdateContactBody,
} from '#modules/contacts/contacts.schemas';
import { removeObjects, retireFilesOf } from '#modules/storage/index';

export type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function listContacts(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  query: ListContactsQuery,
) {
  const { limit = 50, offset = 0, sort, email, phone, city } = query;
  const search = await planSearch(db, 'contacts', query.search);
  const filters = { search, email, phone, city };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const page = listContactRows(db.tenantId, filters, { limit, offset, order: parseSort(sort) });
  const { rows, ...total } = isFiltered
    ? await pageOfMatches(db, page, countContacts(db.tenantId, filters), { limit, offset })
    : await pageOfTable(db, page, 'contacts', offset);
  return toPage(rows.map(presentContact), { limit, offset }, total, setHeader);
}

/** @throws ContactNotFound */
export async function getContact(db: TenantDb, id: string) {
  const row = await db.first(findContact({ tenantId: db.tenantId, id }));
  if (row === undefined) throw ContactNotFound();
  return { data: presentContact(row) };
}

export async function createContact({ db, actor, now }: Scope, body: CreateContactBody) {
  const at = now().toISOString();
  const row = await db.interactive.first(
    insertContact({
      id: newId(),
      first_name: body.firstName ?? null,
      middle_name: body.middleName ?? null,
      last_name: body.lastName ?? null,
      email: body.email ?? null,
      phone: body.phone ?? null,
      url: body.url ?? null,
      address: body.address ?? null,
      notes: body.notes ?? null,
      created_at: at,
      updated_at: at,
      created_by: actor.userId,
      updated_by: actor.userId,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentContact(row!) };
}

/** An empty patch changes nothing and returns the record. @throws ContactNotFound */
export async function updateContact({ db, actor, now }: Scope, id: string, body: UpdateContactBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getContact(db, id);
  const at = now().toISOString();
  const changes: ContactChanges = { ...toColumns(body), updated_at: at, updated_by: actor.userId };
  const row = await db.interactive.first(updateContactRow(id, changes, auditParams(actor, at, { fields })));
  if (row === undefined) throw ContactNotFound();
  return { data: presentContact(row) };
}

/** Also deletes its links and files. @throws ContactNotFound */
export async function deleteContact(
  { db, actor, services }: Omit<Scope, 'now'> & { services: Pick<Services, 'database' | 'files' | 'log' | 'now'> },
  id: string,
) {
  const { tenantId } = db;
  const fileIds = await db.transaction(async (tx) => {
    if ((await tx.first(lockContact({ tenantId, id }))) === undefined) throw ContactNotFound();
    const retired = await retireFilesOf(tx, { tenantId, owner: { type: 'contact', id } });
    await tx.all(deleteContactRow({ tenantId, id }));
    await tx.all(recordDeletion({ id, ...auditParams(actor, services.now().toISOString()) }));
    return retired;
  });
  void removeObjects(services, tenantId, fileIds);
  return { success: true, message: 'The contact is deleted.' };
}

function toColumns(body: UpdateContactBody): ContactChanges {
  const columns = {
    first_name: body.firstName,
    middle_name: body.middleName,
    last_name: body.lastName,
    email: body.email,
    phone: body.phone,
    url: body.url,
    address: body.address,
    notes: body.notes,
  } satisfies Record<Exclude<keyof ContactChanges, 'updated_at' | 'updated_by'>, unknown>;
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as ContactChanges;
}

/** The specification's "Contact": an explicit object, so that a new column is not exposed by accident. */
export function presentContact(row: ContactRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    first_name: row.first_name,
    middle_name: row.middle_name,
    last_name: row.last_name,
    email: row.email,
    phone: row.phone,
    url: row.url,
    address: row.address,
    notes: row.notes,
    created_at: row.created_at,
    updated_at: row.updated_at,
    created_by: row.created_by,
    updated_by: row.updated_by,
  } satisfies Record<keyof Contact, unknown>;
}
