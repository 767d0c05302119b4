import { queryBuilder, statement } from '#core/db/query';
import type { ProviderTables } from '#modules/identity-providers/identity-providers.tables';

export type IdentityRow = Omit<ProviderTables['account_identities'], 'subject'>;

type Name = { configuredBy: string; provider: IdentityRow['provider']; subject: string };

const builder = queryBuilder<ProviderTables>();

const columns = ['id', 'account_id', 'configured_by', 'provider', 'email', 'created_at', 'last_used_at'] as const;

/** Whose an identity is that its person took off: of no account, also not of one that shares its address. */
const nobody = '00000000-0000-0000-0000-000000000000';

/** Whose identity it is, if it is linked; notes that it was used. */
export const touchIdentity = statement<Name & { email: string | null; at: string }, IdentityRow>((p) =>
  builder
    .updateTable('account_identities')
    .set({ email: p.email, last_used_at: p.at })
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject)
    .where('account_id', '<>', nobody)
    .returning(columns),
);

export const findIdentity = statement<Name, IdentityRow>((p) =>
  builder
    .selectFrom('account_identities')
    .select(columns)
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject),
);

/** No row when the identity is known already: linked to whomever, or taken off. */
export const insertIdentity = statement<
  Name & { id: string; accountId: string; email: string | null; at: string },
  IdentityRow
>((p) =>
  builder
    .insertInto('account_identities')
    .values({
      id: p.id,
      account_id: p.accountId,
      configured_by: p.configuredBy,
      provider: p.provider,
      subject: p.subject,
      email: p.email,
      created_at: p.at,
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.columns(['configured_by', 'provider', 'subject']).doNothing())
    .returning(columns),
);

/** Holds as long as the identity is linked to the account. */
export const holdIdentity = statement<{ id: string; accountId: string }, { id: string }>((p) =>
  builder.selectFrom('account_identities').select('id').where('id', '=', p.id).where('account_id', '=', p.accountId),
);

export const listIdentities = statement<{ accountId: string }, IdentityRow>((p) =>
  builder.selectFrom('account_identities').select(columns).where('account_id', '=', p.accountId).orderBy('id'),
);

/** Takes it off. What stays keeps the next login from linking it again by the address alone. */
export const releaseIdentity = statement<{ id: string; accountId: string }, { id: string }>((p) =>
  builder
    .updateTable('account_identities')
    .set({ account_id: nobody, email: null })
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId)
    .returning('id'),
);

/** Makes room for a link that is asked for. */
export const deleteReleasedIdentity = statement<Name, never>((p) =>
  builder
    .deleteFrom('account_identities')
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject)
    .where('account_id', '=', nobody),
);

/** The account that has proven the address, held for the transaction. */
export const lockProvenAccount = statement<{ email: string }, { id: string }>((p) =>
  builder
    .selectFrom('accounts')
    .select('id')
    .where('email', '=', p.email)
    .where('email_verified_at', 'is not', null)
    .forNoKeyUpdate(),
);

/** The same among the active users of a tenant: an issuer that the tenant runs learns nothing of others, not even from the time. */
export const lockProvenUser = statement<{ tenantId: string; email: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.account_id')
    .select('accounts.id')
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.status', '=', 'active')
    .where('accounts.email', '=', p.email)
    .where('accounts.email_verified_at', 'is not', null)
    .forNoKeyUpdate('accounts'),
);
