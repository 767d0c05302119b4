import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, lock, queryBuilder, read, write } from '#core/data/db/query';
import { typed, flag, lockById, rowById, tenantTable, time, uuid, type RowOf } from '#core/data/db/rows';
import { contacts, type ContactRow, type ContactsTables } from '#modules/contacts/contacts.queries';

/** Kinds of records that contacts are linked to. */
export type EntityType = 'user' | 'space' | 'resource';

const links = tenantTable('contact_links', {
  id: uuid,
  tenant_id: uuid,
  entity_type: typed<EntityType>(),
  entity_id: uuid,
  contact_id: uuid,
  is_primary: flag,
  created_at: time,
});
export type ContactLinkRow = RowOf<typeof links>;

type Described = { tenant_id: string; id: string; name: string; description: string | null; status: string };

type Tables = ContactsTables & {
  contact_links: ContactLinkRow & {
    created_by: string | null;
    space_id: string | null;
    resource_id: string | null;
    user_id: string | null;
  };
  spaces: Described;
  resources: Described;
  users: { tenant_id: string; id: string; display_name: string; status: string };
};

const builder = queryBuilder<Tables>();

const spaces = tenantTable('spaces');
const resources = tenantTable('resources');
const users = tenantTable('users', { id: uuid }, ['status', '<>', 'deleted']);

/** The lock serialises changes of the primary contact, and prevents links to a record that is being deleted. */
export const entityQueries = {
  space: { find: rowById(spaces), lock: lockById(spaces, 'for no key update') },
  resource: { find: rowById(resources), lock: lockById(resources, 'for no key update') },
  user: { find: rowById(users), lock: lockById(users, 'for no key update') },
} as const satisfies Record<EntityType, unknown>;

type OfEntity = { entityType: EntityType; entityId: string };
type InTenant = { tenantId: string };

/** A limit of null means all rows. */
type Page = { limit: number | null; offset: number };

export type LinkedContactRow = ContactLinkRow & { contact: ContactRow };

/** The contacts of a record, the primary one first. */
export const listLinks = read<OfEntity & InTenant & Page, LinkedContactRow>((p) =>
  builder
    .selectFrom('contact_links')
    .innerJoin('contacts', (join) =>
      join
        .onRef('contacts.tenant_id', '=', 'contact_links.tenant_id')
        .onRef('contacts.id', '=', 'contact_links.contact_id'),
    )
    .select(links.columns.map((name) => `contact_links.${name}` as const))
    .select(contactJson().as('contact'))
    .where('contact_links.tenant_id', '=', p.tenantId)
    .where('contacts.tenant_id', '=', p.tenantId)
    .where('contact_links.entity_type', '=', p.entityType)
    .where('contact_links.entity_id', '=', p.entityId)
    .orderBy('contact_links.is_primary', 'desc')
    .orderBy('contact_links.created_at')
    .orderBy('contact_links.id')
    .limit(p.limit)
    .offset(p.offset),
);

/** Locks the link until the transaction ends, so that it is not deleted before it is changed. */
export const lockLink = lock<OfEntity & InTenant & { contactId: string }, ContactLinkRow>((p) =>
  builder
    .selectFrom('contact_links')
    .select(links.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId)
    .where('contact_id', '=', p.contactId)
    .forUpdate(),
);

export const clearPrimary = write<OfEntity & InTenant, never>((p) =>
  builder
    .updateTable('contact_links')
    .set({ is_primary: false })
    .where('tenant_id', '=', p.tenantId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId)
    .where('is_primary', '=', true),
);

type Audited = AuditParams & { action: string };

const event = ({ action }: Audited) => ({ action, resourceType: 'contact_link' });

export const insertLink = auditedWrite<
  OfEntity & { id: string; contactId: string; isPrimary: boolean; at: string; createdBy: string | null } & Audited,
  ContactLinkRow
>((p) => {
  const change = builder
    .insertInto('contact_links')
    .values({
      id: p.id,
      tenant_id: p.tenantId,
      entity_type: p.entityType,
      entity_id: p.entityId,
      contact_id: p.contactId,
      is_primary: p.isPrimary,
      created_at: p.at,
      created_by: p.createdBy,
    } as never)
    .returning(links.columns);
  return withAudit<ContactLinkRow>(change, event(p), p);
});

export const setPrimary = auditedWrite<{ id: string; isPrimary: boolean } & Audited, ContactLinkRow>((p) => {
  const change = builder
    .updateTable('contact_links')
    .set({ is_primary: p.isPrimary })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(links.columns);
  return withAudit<ContactLinkRow>(change, event(p), p);
});

export const deleteLink = auditedWrite<OfEntity & { contactId: string } & Audited, { id: string }>((p) => {
  const change = builder
    .deleteFrom('contact_links')
    .where('tenant_id', '=', p.tenantId)
    .where('entity_type', '=', p.entityType)
    .where('entity_id', '=', p.entityId)
    .where('contact_id', '=', p.contactId)
    .returning('id');
  return withAudit<{ id: string }>(change, event(p), p);
});

export const deleteLinksOfUser = write<InTenant & { userId: string }, never>((p) =>
  builder.deleteFrom('contact_links').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.userId),
);

export type ReferenceRow = {
  id: string;
  entity_type: EntityType;
  entity_id: string;
  entity_name: string;
  entity_description: string | null;
  entity_status: string | null;
  is_primary: boolean;
  created_at: string;
};

/** Users whose links are read: all users, one user, or no user. */
type Readable = { allUsers: boolean; userId: string | null };

/** Lists the records that a contact is linked to. */
export const listReferences = read<InTenant & { contactId: string } & Readable & Page, ReferenceRow>((p) =>
  builder
    .selectFrom('contact_links')
    .leftJoin('spaces', (join) =>
      join.onRef('spaces.tenant_id', '=', 'contact_links.tenant_id').onRef('spaces.id', '=', 'contact_links.space_id'),
    )
    .leftJoin('resources', (join) =>
      join
        .onRef('resources.tenant_id', '=', 'contact_links.tenant_id')
        .onRef('resources.id', '=', 'contact_links.resource_id'),
    )
    .leftJoin('users', (join) =>
      join.onRef('users.tenant_id', '=', 'contact_links.tenant_id').onRef('users.id', '=', 'contact_links.user_id'),
    )
    .select([
      'contact_links.id',
      'contact_links.entity_type',
      'contact_links.entity_id',
      'contact_links.is_primary',
      'contact_links.created_at',
      sql<string>`coalesce(spaces.name, resources.name, users.display_name)`.as('entity_name'),
      sql<string | null>`coalesce(spaces.description, resources.description)`.as('entity_description'),
      sql<string | null>`coalesce(spaces.status, resources.status, users.status)`.as('entity_status'),
    ])
    .where('contact_links.tenant_id', '=', p.tenantId)
    .where('contact_links.contact_id', '=', p.contactId)
    .where(
      sql<boolean>`(contact_links.user_id is null or ${p.allUsers}::boolean or contact_links.user_id = ${p.userId}::uuid)`,
    )
    .orderBy('contact_links.created_at')
    .orderBy('contact_links.id')
    .limit(p.limit)
    .offset(p.offset),
);

// PostgreSQL formats times inside JSON in its own way; this writes them as RFC 3339.
function contactJson() {
  const instant = (name: string) =>
    sql`to_char(contacts.${sql.raw(name)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const pairs = contacts.columns.map((name) =>
    name.endsWith('_at') ? sql`${sql.lit(name)}, ${instant(name)}` : sql`${sql.lit(name)}, contacts.${sql.raw(name)}`,
  );
  return sql<ContactRow>`json_build_object(${sql.join(pairs)})`;
}
