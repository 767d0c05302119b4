import Type, { type Static } from 'typebox';

import { Language, Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/http/schemas';

const requires2fa = Type.Boolean({ description: 'Every person of the tenant needs a second factor.' });
const twoFactorGraceDays = Type.Integer({
  minimum: 0,
  maximum: 90,
  description: 'How long people may go without one after it was required.',
});

export const UpdateTenantBody = closed({
  name: Type.Optional(Type.String({ minLength: 2, maxLength: 255, pattern: '\\S', format: 'line' })),
  default_language: Type.Optional(Language),
  languages: Type.Optional(
    Type.Array(Language, { minItems: 1, maxItems: 50, uniqueItems: true, description: 'The default one among them.' }),
  ),
  settings: Type.Optional(
    closed({ requires2fa: Type.Optional(requires2fa), twoFactorGraceDays: Type.Optional(twoFactorGraceDays) }),
  ),
});
export type UpdateTenantBody = Static<typeof UpdateTenantBody>;

const Status = Type.Enum(['active', 'suspended', 'pending_deletion']);

const Tenant = closed(
  {
    id: Uuid,
    name: Type.String(),
    domain: Type.String(),
    status: Status,
    default_language: Type.String(),
    languages: Type.Array(Type.String()),
    settings: closed({
      requires2fa,
      twoFactorGraceDays,
      twoFactorRequiredFrom: nullable(Timestamp),
    }),
    suspended_at: nullable(Timestamp),
    deletes_at: nullable(Timestamp),
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
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name and domain.' })),
  status: Type.Optional(Status),
});
export type ListTenantsQuery = Static<typeof ListTenantsQuery>;
