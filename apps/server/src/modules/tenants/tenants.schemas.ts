import Type, { type Static } from 'typebox';

import { Language, Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const requires2fa = Type.Boolean({ description: 'Whether every user of the tenant needs a second factor.' });
const twoFactorGraceDays = Type.Integer({
  minimum: 0,
  maximum: 90,
  description: 'Grace period in days: time for users to enable a second factor after it becomes required.',
});

export const UpdateTenantBody = closed({
  name: Type.Optional(Type.String({ minLength: 2, maxLength: 255, pattern: '\\S', format: 'line' })),
  default_language: Type.Optional(Type.With(Language, { description: 'Default language; one of `languages`.' })),
  languages: Type.Optional(
    Type.Array(Language, {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      description: 'Languages (ISO 639-1), including the default language.',
    }),
  ),
  settings: Type.Optional(
    closed(
      { requires2fa: Type.Optional(requires2fa), twoFactorGraceDays: Type.Optional(twoFactorGraceDays) },
      { description: 'Settings to change; the others stay.' },
    ),
  ),
});
export type UpdateTenantBody = Static<typeof UpdateTenantBody>;

const Status = Type.Enum(['active', 'suspended', 'pending_deletion'], { description: 'Status of the tenant.' });

const Tenant = closed(
  {
    id: Uuid,
    name: Type.String(),
    domain: Type.String({ description: 'Short name of the tenant, unique in the installation.' }),
    status: Status,
    default_language: Type.String({ description: 'Default language (ISO 639-1).' }),
    languages: Type.Array(Type.String(), { description: 'Languages (ISO 639-1), including the default language.' }),
    settings: closed({
      requires2fa,
      twoFactorGraceDays,
      twoFactorRequiredFrom: Type.With(nullable(Timestamp), {
        description: 'Time at which the grace period ends (RFC 3339, UTC); null if a second factor is not required.',
      }),
    }),
    suspended_at: Type.With(nullable(Timestamp), {
      description: 'Time of the suspension (RFC 3339, UTC); null if it is not suspended.',
    }),
    deletes_at: Type.With(nullable(Timestamp), {
      description: 'Time of the final deletion (RFC 3339, UTC); null if no deletion is pending.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Tenant' },
);

export const TenantAnswer = dataOf(Tenant);
export const TenantPage = pageOf(Tenant);

export const ListTenantsQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Words to search for in name and domain.' })),
  status: Type.Optional(Status),
});
export type ListTenantsQuery = Static<typeof ListTenantsQuery>;
