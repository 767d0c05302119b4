import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

type Owned = { account_id: string };
type Tables = Pick<AuthTables, 'accounts' | 'one_time_tokens'> & {
  two_factor_methods: Owned;
  two_factor_codes: Owned;
  two_factor_backup_codes: Owned;
  account_identities: Owned;
  known_logins: Owned;
};
type Of = { accountId: string };

const builder = queryBuilder<Tables>();

/** The account starts again with an unverified address: its new holder has not proven it yet. */
export const renewAccount = write<Of & { passwordHash: string; at: string }, never>((p) =>
  builder
    .updateTable('accounts')
    .set({ password_hash: p.passwordHash, password_changed_at: p.at, email_verified_at: null, updated_at: p.at })
    .where('id', '=', p.accountId),
);

export const deleteFactors = write<Of, Owned>((p) =>
  builder.deleteFrom('two_factor_methods').where('account_id', '=', p.accountId).returning('account_id'),
);

export const deleteFactorCodes = write<Of, never>((p) =>
  builder.deleteFrom('two_factor_codes').where('account_id', '=', p.accountId),
);

export const deleteBackupCodes = write<Of, never>((p) =>
  builder.deleteFrom('two_factor_backup_codes').where('account_id', '=', p.accountId),
);

export const deleteIdentities = write<Of, never>((p) =>
  builder.deleteFrom('account_identities').where('account_id', '=', p.accountId),
);

/** Invitations remain, because tenants sent them to the address and not to its holder. */
export const voidOneTimeTokens = write<Of & { keepsDisowning: boolean; at: string }, never>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.at })
    .where('account_id', '=', p.accountId)
    .where('purpose', '<>', 'invitation')
    .where('used_at', 'is', null)
    .where(sql<boolean>`(not ${p.keepsDisowning}::boolean or purpose <> 'account_disowning')`),
);

export const deleteKnownLogins = write<Of, never>((p) =>
  builder.deleteFrom('known_logins').where('account_id', '=', p.accountId),
);
