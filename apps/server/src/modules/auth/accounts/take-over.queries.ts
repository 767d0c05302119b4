import { queryBuilder, statement } from '#core/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

type Owned = { account_id: string };
type Tables = Pick<AuthTables, 'accounts' | 'one_time_tokens'> & {
  two_factor_methods: Owned;
  two_factor_codes: Owned;
  two_factor_backup_codes: Owned;
  account_identities: Owned;
};
type Of = { accountId: string };

const builder = queryBuilder<Tables>();

/** An account begins anew: whoever it belongs to now has still to prove the address. */
export const renewAccount = statement<Of & { passwordHash: string; at: string }, never>((p) =>
  builder
    .updateTable('accounts')
    .set({ password_hash: p.passwordHash, password_changed_at: p.at, email_verified_at: null, updated_at: p.at })
    .where('id', '=', p.accountId),
);

export const deleteFactors = statement<Of, Owned>((p) =>
  builder.deleteFrom('two_factor_methods').where('account_id', '=', p.accountId).returning('account_id'),
);

export const deleteFactorCodes = statement<Of, never>((p) =>
  builder.deleteFrom('two_factor_codes').where('account_id', '=', p.accountId),
);

export const deleteBackupCodes = statement<Of, never>((p) =>
  builder.deleteFrom('two_factor_backup_codes').where('account_id', '=', p.accountId),
);

export const deleteIdentities = statement<Of, never>((p) =>
  builder.deleteFrom('account_identities').where('account_id', '=', p.accountId),
);

/** Invitations stay: they are from tenants to the address, whoever has the account. */
export const deleteOneTimeTokens = statement<Of, never>((p) =>
  builder.deleteFrom('one_time_tokens').where('account_id', '=', p.accountId).where('purpose', '<>', 'invitation'),
);
