import Type, { type Static, type TSchema } from 'typebox';

import {
  Email,
  PostalAddress,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  listOf,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/base/schemas';

const url = { description: 'Web address of the contact.' };
const Uri = Type.String({ format: 'uri', maxLength: 2048, ...url });

/** The writable fields with their bounds; input is camelCase, records are snake_case (specification, "Contact"). */
const fields = {
  firstName: Type.String({ maxLength: 100 }),
  middleName: Type.String({ maxLength: 100 }),
  lastName: Type.String({ maxLength: 100 }),
  email: Email,
  phone: Type.String({ maxLength: 50 }),
  url: Uri,
  address: PostalAddress,
  notes: Type.String({ maxLength: 2000 }),
};

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema);

export const CreateContactBody = closed({
  firstName: optional(fields.firstName),
  middleName: optional(fields.middleName),
  lastName: optional(fields.lastName),
  email: optional(fields.email),
  phone: optional(fields.phone),
  url: optional(fields.url),
  address: optional(fields.address),
  notes: optional(fields.notes),
});
export type CreateContactBody = Static<typeof CreateContactBody>;

export const UpdateContactBody = closed({
  firstName: optional(nullable(fields.firstName)),
  middleName: optional(nullable(fields.middleName)),
  lastName: optional(nullable(fields.lastName)),
  email: optional(nullable(fields.email)),
  phone: optional(nullable(fields.phone)),
  url: optional(nullable(fields.url, url)),
  address: optional(nullable(fields.address)),
  notes: optional(nullable(fields.notes)),
});
export type UpdateContactBody = Static<typeof UpdateContactBody>;

const recordFields = {
  id: Uuid,
  tenant_id: Uuid,
  first_name: nullable(Type.String()),
  middle_name: nullable(Type.String()),
  last_name: nullable(Type.String()),
  email: nullable(Email),
  phone: nullable(Type.String()),
  url: nullable(Uri, url),
  address: nullable(PostalAddress),
  notes: nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by: nullable(Uuid),
  updated_by: nullable(Uuid),
};

const Contact = closed(recordFields, { title: 'Contact', description: 'Contact of the tenant.' });
export type Contact = Static<typeof Contact>;
export const ContactAnswer = dataOf(Contact);
export const ContactPage = pageOf(Contact);
export const ContactDeleted = closed({ success: Type.Boolean(), message: Type.String() });

export const ListContactsQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at', 'updated_at', 'last_name', 'first_name', 'email']),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Words that must all occur in the names, the e-mail address, the phone number or the city.',
    }),
  ),
  email: Type.Optional(
    Type.String({ maxLength: 254, description: 'Complete e-mail address, compared without regard to case.' }),
  ),
  phone: Type.Optional(
    Type.String({ maxLength: 50, pattern: '\\d', description: 'Complete phone number; only its digits are compared.' }),
  ),
  city: Type.Optional(
    Type.String({ maxLength: 200, description: 'Complete name of the city, compared without regard to case.' }),
  ),
});
export type ListContactsQuery = Static<typeof ListContactsQuery>;

/** For lists that return all rows unless the client sets a limit. */
export const ListPage = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of records; all without it.' }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
});
export type ListPage = Static<typeof ListPage>;

const EntityType = Type.Enum(['user', 'space', 'resource']);
const IsPrimary = Type.Boolean({ description: 'Whether this is the primary contact of the record.' });

export const ContactReferences = listOf(
  closed(
    {
      id: Uuid,
      entity_type: EntityType,
      entity_id: Uuid,
      entity_name: Type.String(),
      entity_description: nullable(Type.String(), {
        description: 'Description of the record; null for users and for records without one.',
      }),
      entity_status: nullable(Type.String(), { description: 'Status of the record.' }),
      is_primary: IsPrimary,
      created_at: Timestamp,
    },
    { title: 'ContactReference' },
  ),
);

const ContactLink = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    entity_type: EntityType,
    entity_id: Uuid,
    contact_id: Uuid,
    is_primary: IsPrimary,
    created_at: Timestamp,
    contact: Contact,
  },
  { title: 'ContactLink' },
);

export const ContactLinkAnswer = dataOf(ContactLink);
export const ContactLinkList = listOf(ContactLink);
export const LinkContactBody = closed({
  contactId: Uuid,
  isPrimary: Type.Optional(
    Type.Boolean({
      description:
        'Whether the contact replaces the primary contact; false for a new link, unchanged for an existing one.',
    }),
  ),
});
export type LinkContactBody = Static<typeof LinkContactBody>;
export const LinkedContactParams = closed({ id: Uuid, contactId: Uuid });
