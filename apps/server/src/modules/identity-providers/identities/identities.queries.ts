import { nilId } from '#core/data/db/nil-id';
import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { ProviderTables } from '#modules/identity-providers/identity-providers.tables';

export type IdentityRow = Omit<ProviderTables['account_identities'], 'subject'>;

type Name = { configuredBy: string; provider: IdentityRow['provider']; subject: string };

const builder = queryBuilder<ProviderTables>();

const columns = ['id', 'account_id', 'configured_by', 'provider', 'email', 'created_at', 'last_used_at'] as const;

/** Owner of an unlinked identity: no account, not even one with the same address. */
const noAccount = nilId;

/** The account of the identity, if it is linked; records the use. */
export const touchIdentity = write<Name & { email: string | null; at: string }, IdentityRow>((p) =>
  builder
    .updateTable('account_identities')
    .set({ email: p.email, last_used_at: p.at })
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject)
    .where('account_id', '<>', noAccount)
    .returning(columns),
);

export const findIdentity = read<Name, IdentityRow>((p) =>
  builder
    .selectFrom('account_identities')
    .select(columns)
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject),
);

/** No row if the identity is known: linked to any account, or unlinked. */
export const insertIdentity = write<
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

/** Holds while the identity is linked to the account. */
export const holdIdentity = read<{ id: string; accountId: string }, { id: string }>((p) =>
  builder.selectFrom('account_identities').select('id').where('id', '=', p.id).where('account_id', '=', p.accountId),
);

export const listIdentities = read<{ accountId: string }, IdentityRow>((p) =>
  builder.selectFrom('account_identities').select(columns).where('account_id', '=', p.accountId).orderBy('id'),
);

/** Unlinks the identity. The row remains and prevents an automatic link at the next login. */
export const releaseIdentity = write<{ id: string; accountId: string }, { id: string }>((p) =>
  builder
    .updateTable('account_identities')
    .set({ account_id: noAccount, email: null })
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId)
    .returning('id'),
);

/** Deletes the mark of an unlinked identity before a requested link. */
export const deleteReleasedIdentity = write<Name, never>((p) =>
  builder
    .deleteFrom('account_identities')
    .where('configured_by', '=', p.configuredBy)
    .where('provider', '=', p.provider)
    .where('subject', '=', p.subject)
    .where('account_id', '=', noAccount),
);

/** The account with the verified address, locked for the transaction. */
export const lockProvenAccount = lock<{ email: string }, { id: string }>((p) =>
  builder
    .selectFrom('accounts')
    .select('id')
    .where('email', '=', p.email)
    .where('email_verified_at', 'is not', null)
    .forNoKeyUpdate(),
);

/**
 * The same among the active users of a tenant: the issuer of a tenant learns nothing about other accounts, not even
 * from response times.
 */
export const lockProvenUser = lock<{ tenantId: string; email: string }, { id: string }>((p) =>
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
