import { access, decide } from '#core/base/access/access';
import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import {
  clearPrimary,
  deleteLink,
  deleteLinksOfUser,
  entityQueries,
  insertLink,
  listLinks,
  listReferences,
  lockLink,
  setPrimary,
  type ContactLinkRow,
  type EntityType,
} from '#modules/contacts/contact-links.queries';
import {
  ContactLinkNotFound,
  ContactNotFound,
  ResourceNotFound,
  SpaceNotFound,
  UserNotFound,
} from '#modules/contacts/contacts.errors';
import { findContact, shareContact, type ContactRow } from '#modules/contacts/contacts.queries';
import type { LinkContactBody, ListPage } from '#modules/contacts/contacts.schemas';
import { presentContact, type Scope } from '#modules/contacts/contacts.service';

/** A record that has contacts. */
export type Entity = { type: EntityType; id: string };

type Reader = { db: TenantDb; actor: Actor };

export const entityNotFound: Readonly<Record<EntityType, ErrorDefinition>> = {
  space: SpaceNotFound,
  resource: ResourceNotFound,
  user: UserNotFound,
};

/** The contacts of a user are personal: other callers need the permission to read or change users. */
const forOtherUsers = {
  read: access.permission('users.read', 'users.read'),
  write: access.permission('users.manage'),
} as const;

/** Leaves out the users whose contacts the caller may not list. @throws ContactNotFound */
export async function listContactReferences({ db, actor }: Reader, contactId: string, page: ListPage) {
  const { tenantId } = db;
  const readable = { allUsers: decide(forOtherUsers.read, actor).allowed, userId: actor.userId };
  const [contacts, references] = await db.interactive.batch([
    findContact({ tenantId, id: contactId }),
    listReferences({ tenantId, contactId, ...readable, ...toPage(page) }),
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

/** @throws NotPermitted, SpaceNotFound, ResourceNotFound, UserNotFound */
export async function listContactsOf({ db, actor }: Reader, entity: Entity, page: ListPage) {
  assertMay('read', actor, entity);
  const { tenantId } = db;
  const [entities, links] = await db.interactive.batch([
    entityQueries[entity.type].find({ tenantId, id: entity.id }),
    listLinks({ tenantId, ...toColumns(entity), ...toPage(page) }),
  ]);
  if (entities.length === 0) throw entityNotFound[entity.type]();
  return { data: links.map((row) => presentLink(row, row.contact)) };
}

/**
 * Links a contact to a record. Linking again returns the existing link. A primary contact replaces the previous one.
 * @throws NotPermitted, SpaceNotFound, ResourceNotFound, UserNotFound, ContactNotFound
 */
export async function addContactTo({ db, actor, now }: Scope, entity: Entity, body: LinkContactBody) {
  assertMay('write', actor, entity);
  const { tenantId } = db;
  const { contactId } = body;
  const isPrimary = body.isPrimary ?? false;
  const at = now().toISOString();
  const link = toColumns(entity);
  return db.transaction(async (tx) => {
    const locked = await tx.first(entityQueries[entity.type].lock({ tenantId, id: entity.id }));
    if (locked === undefined) throw entityNotFound[entity.type]();
    const contact = await tx.first(shareContact({ tenantId, id: contactId }));
    if (contact === undefined) throw ContactNotFound();
    const existing = await tx.first(lockLink({ tenantId, ...link, contactId }));
    const isUnchanged = existing !== undefined && (body.isPrimary === undefined || existing.is_primary === isPrimary);
    if (isUnchanged) return { data: presentLink(existing, contact) };
    if (isPrimary) await tx.all(clearPrimary({ tenantId, ...link }));
    // Both cases record the same action; the names of the fields show what the request contained.
    const audit = {
      ...auditParams(actor, at, { fields: Object.keys(body), ...toDetails(entity), contactId }),
      action: linkActions[entity.type].added,
    };
    const row = await tx.first(
      existing === undefined
        ? insertLink({ id: newId(), ...link, contactId, isPrimary, at, createdBy: actor.userId, ...audit })
        : setPrimary({ id: existing.id, isPrimary, ...audit }),
    );
    return { data: presentLink(row!, contact) };
  });
}

/** @throws NotPermitted, ContactLinkNotFound */
export async function removeContactFrom({ db, actor, now }: Scope, entity: Entity, contactId: string): Promise<void> {
  assertMay('write', actor, entity);
  const audit = auditParams(actor, now().toISOString(), { ...toDetails(entity), contactId });
  const action = linkActions[entity.type].removed;
  const row = await db.interactive.first(deleteLink({ ...toColumns(entity), contactId, ...audit, action }));
  if (row === undefined) throw ContactLinkNotFound();
}

/** A deleted user keeps their row, so no foreign key deletes the links. */
export async function removeContactsOfUser(tx: Transaction, tenantId: string, userId: string): Promise<void> {
  await tx.all(deleteLinksOfUser({ tenantId, userId }));
}

/** Actions in the audit trail. */
export const linkActions = {
  space: { added: 'space_contact.added', removed: 'space_contact.removed' },
  resource: { added: 'resource_contact.added', removed: 'resource_contact.removed' },
  user: { added: 'user_contact.added', removed: 'user_contact.removed' },
} as const;

/** @throws NotPermitted */
function assertMay(mode: 'read' | 'write', actor: Actor, { type, id }: Entity): void {
  if (type !== 'user' || id === actor.userId) return;
  const decision = decide(forOtherUsers[mode], actor);
  if (!decision.allowed) throw decision.error;
}

function toColumns({ type, id }: Entity) {
  return { entityType: type, entityId: id };
}

function toDetails({ type, id }: Entity) {
  return { [`${type}Id`]: id };
}

function toPage({ limit, offset }: ListPage) {
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
