import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

/** The user of a mailed invitation. */
export type Invitation = { tenantId: string; userId: string };

export type InvitationToken = { hash: Buffer; payload: Invitation; created_at: string; expires_at: string };

/** The links to the account that are valid by their tokens; the tenant knows whether the user is still invited. */
export const listInvitationTokens = read<{ accountId: string; now: string }, InvitationToken>((p) =>
  builder
    .selectFrom('one_time_tokens')
    .select(['hash', 'payload', 'created_at', 'expires_at'])
    .where('account_id', '=', p.accountId)
    .where('purpose', '=', 'invitation')
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now)
    .orderBy('created_at', 'desc')
    .limit(200)
    .$castTo<InvitationToken>(),
);

/** Revokes the links. */
export const revokeInvitations = write<{ accountId: string; userId: string; now: string }, never>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('purpose', '=', 'invitation')
    .where(sql<boolean>`payload ->> 'userId' = ${p.userId}`)
    .where('used_at', 'is', null),
);

/** A row if an administrator of the tenant has verified an address; only then is the name of the tenant trusted. */
export const findProvenAdministrator = read<{ tenantId: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.account_id')
    .select('users.id')
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.is_tenant_admin', '=', true)
    .where('users.status', '=', 'active')
    .where('accounts.email_verified_at', 'is not', null)
    .limit(1),
);

/** Locks the user: a concurrent withdrawal waits for the mail, and then finds it. */
export const lockInvitedUser = lock<Invitation, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.userId)
    .where('status', '=', 'invited')
    .forNoKeyUpdate(),
);

/** No row if the user has joined or was deleted, or if the tenant is not active. */
export const findInvitedUser = read<Invitation, { id: string; tenant_id: string; tenant_name: string }>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['users.id', 'users.tenant_id', 'tenants.name as tenant_name'])
    .where('users.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('users.id', '=', p.userId)
    .where('users.status', '=', 'invited')
    .where('tenants.status', '=', 'active'),
);

/** No row if the invitation was withdrawn meanwhile. */
export const activateUser = write<Invitation & { at: string }, { id: string }>((p) =>
  builder
    .updateTable('users')
    .set({ status: 'active', updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.userId)
    .where('status', '=', 'invited')
    .returning('id'),
);

/** Like the statement above, for an invitation that is declined. */
export const dropInvitedUser = write<Invitation & { at: string }, { id: string }>((p) =>
  builder
    .updateTable('users')
    .set({ status: 'deleted', is_tenant_admin: false, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.userId)
    .where('status', '=', 'invited')
    .returning('id'),
);

export const insertGroupMemberships = write<Invitation & { groupIds: readonly string[]; at: string }, never>((p) =>
  builder
    .insertInto('group_members')
    .columns(['tenant_id', 'group_id', 'user_id', 'created_at'])
    .expression((db) =>
      db
        .selectFrom('groups')
        .select([
          'groups.tenant_id',
          'groups.id as group_id',
          sql<string>`${p.userId}::uuid`.as('user_id'),
          sql<string>`${p.at}::timestamptz`.as('created_at'),
        ])
        .where('groups.tenant_id', '=', p.tenantId)
        .where(sql<boolean>`groups.id = any(${p.groupIds}::uuid[])`),
    ),
);

export const deleteGroupMemberships = write<Invitation, never>((p) =>
  builder.deleteFrom('group_members').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.userId),
);
