import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/audit/audit.queries';
import { queryBuilder, statement } from '#core/db/query';
import { contactColumns, type ContactRow, type ContactsTables } from '#modules/contacts/contacts.queries';

type EntityType = 'user' | 'space' | 'resource';

export type ContactLinkRow = {
  id: string;
  tenant_id: string;
  entity_type: EntityType;
  entity_id: string;
  contact_id: string;
  is_primary: boolean;
  created_at: string;
};

type Tables = ContactsTables & {
  contact_links: ContactLinkRow & { created_by: string | null; space_id: string | null };
  spaces: { tenant_id: string; id: string; name: string; description: string | null; status: string };
};

const builder = queryBuilder<Tables>();

const linkColumns = ['id', 'tenant_id', 'entity_type', 'entity_id', 'contact_id', 'is_primary', 'created_at'] as const;

export type SpaceContactRow = ContactLinkRow & { contact: ContactRow };

/** Which part of a list; null for all that follows. */
type Part = { limit: number | null; offset: number };

/** A space's contacts, the primary one first. */
export const listSpaceContacts = statement<{ tenantId: string; spaceId: string } & Part, SpaceContactRow>((p) =>
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
    .where('contact_links.space_id', '=', p.spaceId)
    .orderBy('contact_links.is_primary', 'desc')
    .orderBy('contact_links.created_at')
    .orderBy('contact_links.id')
    .limit(p.limit)
    .offset(p.offset),
);

export const findSpace = statement<{ tenantId: string; spaceId: string }, { id: string }>((p) =>
  builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.spaceId),
);

/** Held until the end of the transaction, so that two new primary contacts come one after the other. */
export const lockSpace = statement<{ tenantId: string; spaceId: string }, { id: string }>((p) =>
  builder
    .selectFrom('spaces')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.spaceId)
    .forNoKeyUpdate(),
);

/** Held until the end of the transaction, so that the link cannot go between finding and changing it. */
export const lockSpaceContact = statement<{ tenantId: string; spaceId: string; contactId: string }, ContactLinkRow>(
  (p) =>
    builder
      .selectFrom('contact_links')
      .select(linkColumns)
      .where('tenant_id', '=', p.tenantId)
      .where('space_id', '=', p.spaceId)
      .where('contact_id', '=', p.contactId)
      .forUpdate(),
);

export const clearPrimary = statement<{ tenantId: string; spaceId: string }, never>((p) =>
  builder
    .updateTable('contact_links')
    .set({ is_primary: false })
    .where('tenant_id', '=', p.tenantId)
    .where('space_id', '=', p.spaceId)
    .where('is_primary', '=', true),
);

export const insertSpaceContact = statement<
  {
    id: string;
    spaceId: string;
    contactId: string;
    isPrimary: boolean;
    at: string;
    createdBy: string | null;
  } & AuditParams,
  ContactLinkRow
>((p) => {
  const change = builder
    .insertInto('contact_links')
    .values({
      id: p.id,
      tenant_id: p.tenantId,
      entity_type: 'space',
      entity_id: p.spaceId,
      contact_id: p.contactId,
      is_primary: p.isPrimary,
      created_at: p.at,
      created_by: p.createdBy,
    } as never)
    .returning(linkColumns);
  return withAudit<ContactLinkRow>(change, { action: 'space_contact.added', resourceType: 'contact_link' }, p);
});

/** The same action as adding: the route that sets a link writes one action, with the name of the field it changed. */
export const setPrimary = statement<{ id: string; isPrimary: boolean } & AuditParams, ContactLinkRow>((p) => {
  const change = builder
    .updateTable('contact_links')
    .set({ is_primary: p.isPrimary })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(linkColumns);
  return withAudit<ContactLinkRow>(change, { action: 'space_contact.added', resourceType: 'contact_link' }, p);
});

export const deleteSpaceContact = statement<{ spaceId: string; contactId: string } & AuditParams, { id: string }>(
  (p) => {
    const change = builder
      .deleteFrom('contact_links')
      .where('tenant_id', '=', p.tenantId)
      .where('space_id', '=', p.spaceId)
      .where('contact_id', '=', p.contactId)
      .returning('id');
    return withAudit<{ id: string }>(change, { action: 'space_contact.removed', resourceType: 'contact_link' }, p);
  },
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

/** Where a contact is used. */
export const listReferences = statement<{ tenantId: string; contactId: string } & Part, ReferenceRow>((p) =>
  builder
    .selectFrom('contact_links')
    .innerJoin('spaces', (join) =>
      join.onRef('spaces.tenant_id', '=', 'contact_links.tenant_id').onRef('spaces.id', '=', 'contact_links.space_id'),
    )
    .select([
      'contact_links.id',
      'contact_links.entity_type',
      'contact_links.entity_id',
      'contact_links.is_primary',
      'contact_links.created_at',
      'spaces.name as entity_name',
      'spaces.description as entity_description',
      'spaces.status as entity_status',
    ])
    .where('contact_links.tenant_id', '=', p.tenantId)
    .where('spaces.tenant_id', '=', p.tenantId)
    .where('contact_links.contact_id', '=', p.contactId)
    .orderBy('contact_links.created_at')
    .orderBy('contact_links.id')
    .limit(p.limit)
    .offset(p.offset),
);

// Times inside JSON would come in PostgreSQL's own form, so they are written as the wire wants them.
function contactJson() {
  const instant = (name: string) =>
    sql`to_char(contacts.${sql.raw(name)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const pairs = contactColumns.map((name) =>
    name.endsWith('_at') ? sql`${sql.lit(name)}, ${instant(name)}` : sql`${sql.lit(name)}, contacts.${sql.raw(name)}`,
  );
  return sql<ContactRow>`json_build_object(${sql.join(pairs)})`;
}
