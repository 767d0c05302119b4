import { auditParams } from '#core/audit/audit.queries';
import { newId } from '#core/crypto/ids';
import type { TenantDb } from '#core/db/scopes';
import {
  clearPrimary,
  deleteSpaceContact,
  findSpace,
  insertSpaceContact,
  listReferences,
  listSpaceContacts,
  lockSpace,
  lockSpaceContact,
  setPrimary,
  type ContactLinkRow,
} from '#modules/contacts/contact-links.queries';
import { ContactLinkNotFound, ContactNotFound, SpaceNotFound } from '#modules/contacts/contacts.errors';
import { findContact, type ContactRow } from '#modules/contacts/contacts.queries';
import type { LinkContactBody, PartOfList } from '#modules/contacts/contacts.schemas';
import { presentContact, type Scope } from '#modules/contacts/contacts.service';

/** @throws ContactNotFound */
export async function listContactReferences(db: TenantDb, contactId: string, part: PartOfList) {
  const { tenantId } = db;
  const [contacts, references] = await db.slow.flight([
    findContact({ tenantId, id: contactId }),
    listReferences({ tenantId, contactId, ...toPart(part) }),
  ]);
  if (contacts.length === 0) throw ContactNotFound();
  return {
    data: references.map((row) => ({
      id: row.id,
      entity_type: row.entity_type,
      entity_id: row.entity_id,
      entity_name: row.entity_name,
      entity_description: row.entity_description,
      entity_status: row.entity_status,
      is_primary: row.is_primary,
      created_at: row.created_at,
    })),
  };
}

/** @throws SpaceNotFound */
export async function listContactsOfSpace(db: TenantDb, spaceId: string, part: PartOfList) {
  const { tenantId } = db;
  const [spaces, links] = await db.slow.flight([
    findSpace({ tenantId, spaceId }),
    listSpaceContacts({ tenantId, spaceId, ...toPart(part) }),
  ]);
  if (spaces.length === 0) throw SpaceNotFound();
  return { data: links.map((row) => presentLink(row, row.contact)) };
}

/**
 * Links a contact to a space. Linking again is safe and answers the link that exists; a primary contact
 * takes over from the one before.
 * @throws SpaceNotFound, ContactNotFound
 */
export function addContactToSpace({ db, actor, now }: Scope, spaceId: string, body: LinkContactBody) {
  const { tenantId } = db;
  const { contactId } = body;
  const isPrimary = body.isPrimary ?? false;
  const at = now().toISOString();
  return db.transaction(async (tx) => {
    const space = await tx.first(lockSpace({ tenantId, spaceId }));
    if (space === undefined) throw SpaceNotFound();
    const contact = await tx.first(findContact({ tenantId, id: contactId }));
    if (contact === undefined) throw ContactNotFound();
    const existing = await tx.first(lockSpaceContact({ tenantId, spaceId, contactId }));
    const isUnchanged = existing !== undefined && (body.isPrimary === undefined || existing.is_primary === isPrimary);
    if (isUnchanged) return { data: presentLink(existing, contact) };
    if (isPrimary) await tx.all(clearPrimary({ tenantId, spaceId }));
    const audit = auditParams(actor, at, { fields: Object.keys(body), spaceId: space.id, contactId });
    const link = await tx.first(
      existing === undefined
        ? insertSpaceContact({ id: newId(), spaceId, contactId, isPrimary, at, createdBy: actor.userId, ...audit })
        : setPrimary({ id: existing.id, isPrimary, ...audit }),
    );
    return { data: presentLink(link!, contact) };
  });
}

/** @throws ContactLinkNotFound */
export async function removeContactFromSpace(
  { db, actor, now }: Scope,
  spaceId: string,
  contactId: string,
): Promise<void> {
  const audit = auditParams(actor, now().toISOString(), { spaceId, contactId });
  const row = await db.slow.first(deleteSpaceContact({ spaceId, contactId, ...audit }));
  if (row === undefined) throw ContactLinkNotFound();
}

function toPart({ limit, offset }: PartOfList) {
  return { limit: limit ?? null, offset: offset ?? 0 };
}

function presentLink(row: ContactLinkRow, contact: ContactRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    entity_type: row.entity_type,
    entity_id: row.entity_id,
    contact_id: row.contact_id,
    is_primary: row.is_primary,
    created_at: row.created_at,
    contact: presentContact(contact),
  };
}
