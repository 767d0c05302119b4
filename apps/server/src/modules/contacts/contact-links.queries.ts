import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  write,
  type LockStatement,
  type ReadStatement,
} from '#core/data/db/query';
import { contactColumns, type ContactRow, type ContactsTables } from '#modules/contacts/contacts.queries';

/** Kinds of records that contacts are linked to. */
export type EntityType = 'user' | 'space' | 'resource';

export type ContactLinkRow = {
  id: string;
  tenant_id: string;
  entity_type: EntityType;
  entity_id: string;
  contact_id: string;
  is_primary: boolean;
  created_at: string;
};

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

const linkColumns = ['id', 'tenant_id', 'entity_type', 'entity_id', 'contact_id', 'is_primary', 'created_at'] as const;

type ById = { tenantId: string; id: string };

/** `find` reads the record; `lock` also locks it until the transaction ends. */
type EntityQueries = {
  find(params: ById): ReadStatement<{ id: string }>;
  lock(params: ById): LockStatement<{ id: string }>;
};

/** The lock serialises changes of the primary contact, and prevents links to a record that is being deleted. */
export const entityQueries: Readonly<Record<EntityType, EntityQueries>> = {
  space: {
    find: read<ById, { id: string }>((p) =>
      builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
    ),
    lock: lock<ById, { id: string }>((p) =>
      builder
        .selectFrom('spaces')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .forNoKeyUpdate(),
    ),
  },
  resource: {
    find: read<ById, { id: string }>((p) =>
      builder.selectFrom('resources').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
    ),
    lock: lock<ById, { id: string }>((p) =>
      builder
        .selectFrom('resources')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .forNoKeyUpdate(),
    ),
  },
  user: {
    find: read<ById, { id: string }>((p) =>
      builder
        .selectFrom('users')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .where('status', '<>', 'deleted'),
    ),
    lock: lock<ById, { id: string }>((p) =>
      builder
        .selectFrom('users')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.id)
        .where('status', '<>', 'deleted')
        .forNoKeyUpdate(),
    ),
  },
};

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
    .select(linkColumns.map((name) => `contact_links.${name}` as const))
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
    .select(linkColumns)
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
    .returning(linkColumns);
  return withAudit<ContactLinkRow>(change, event(p), p);
});

export const setPrimary = auditedWrite<{ id: string; isPrimary: boolean } & Audited, ContactLinkRow>((p) => {
  const change = builder
    .updateTable('contact_links')
    .set({ is_primary: p.isPrimary })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(linkColumns);
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
  const pairs = contactColumns.map((name) =>
    name.endsWith('_at') ? sql`${sql.lit(name)}, ${instant(name)}` : sql`${sql.lit(name)}, contacts.${sql.raw(name)}`,
  );
  return sql<ContactRow>`json_build_object(${sql.join(pairs)})`;
}
