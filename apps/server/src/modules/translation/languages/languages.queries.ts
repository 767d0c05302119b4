import { queryBuilder, read } from '#core/data/db/query';

/** The default language of a tenant, and all its languages. */
export type TenantLanguages = { default_language: string; languages: string[] };

const builder = queryBuilder<{ tenants: TenantLanguages & { id: string } }>();

export const findLanguages = read<{ tenantId: string }, TenantLanguages>((p) =>
  builder.selectFrom('tenants').select(['default_language', 'languages']).where('id', '=', p.tenantId),
);
