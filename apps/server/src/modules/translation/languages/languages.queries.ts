import { queryBuilder, statement } from '#core/db/query';

/** The language of a tenant, and all that it uses, that one among them. */
export type TenantLanguages = { default_language: string; languages: string[] };

const builder = queryBuilder<{ tenants: TenantLanguages & { id: string } }>();

export const findLanguages = statement<{ tenantId: string }, TenantLanguages>((p) =>
  builder.selectFrom('tenants').select(['default_language', 'languages']).where('id', '=', p.tenantId),
);
