import { flowOf } from '#core/base/access/flows';
import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  findAccountByAddress,
  insertAccountIfNew,
  insertMembership,
  insertUser,
} from '#modules/auth/accounts/accounts.queries';
import { sendInvitation, withinMailBudget } from '#modules/auth/accounts/invitation-mail';
import { insertGroupMemberships } from '#modules/auth/accounts/invitations.queries';
import { accountPlace, sealPassword } from '#modules/auth/passwords/stored-password';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'mail' | 'now' | 'passwords' | 'principals' | 'queue' | 'settings'
>;

export type NewPerson = {
  /** Normalised by `normaliseEmail`. */
  email: string;
  /** Used if the address has no account yet. */
  password: string | undefined;
  displayName: string | undefined;
  fullName: string | undefined;
  locale: string;
  isTenantAdmin: boolean;
  groupIds: readonly string[];
  tenantName: string;
  /** Action in the audit trail. */
  action: 'user.created' | 'user.invited';
};

type Prepared = NewPerson & {
  userId: string;
  freshAccountId: string;
  passwordHash: string | null;
  isInvited: boolean;
  /** Whether an administrator of the tenant has verified an address. */
  isProven: boolean;
  at: string;
};

/**
 * Adds a person to the tenant of the actor: at once if the address is new and has a password, otherwise by an
 * invitation.
 * A person joins only with a mailed link, because users must consent to a tenant, and a stranger could have registered
 * the address.
 * @returns the id of the new user. Fails on `users_account_key` if the person already is a user of the tenant.
 * @throws TooManyInvitations
 */
export async function addPerson(services: Dependencies, actor: Actor, person: NewPerson): Promise<string> {
  const { tenantId } = actor;
  const { email, password } = person;
  const known = await services.database.credential().first(findAccountByAddress({ email }));
  const isInvited = known !== undefined || password === undefined;
  const freshAccountId = newId();
  const prepared: Prepared = {
    ...person,
    userId: newId(),
    freshAccountId,
    passwordHash: isInvited
      ? null
      : await sealPassword(services, accountPlace(freshAccountId), password, flowOf(actor)),
    isInvited,
    isProven: false,
    at: services.now().toISOString(),
  };
  const insert = (isProven: boolean) =>
    services.database
      .credential(tenantId)
      .transaction((tx) => insertPerson(services, tx, actor, { ...prepared, isProven }));
  const isAdded = isInvited ? await withinMailBudget(services, { email, tenantId }, insert) : await insert(false);
  // Another request created the account meanwhile, so it is invited now.
  if (!isAdded) return addPerson(services, actor, person);
  if (isInvited) services.mail.wake();
  return prepared.userId;
}

/** False if the account already existed. */
async function insertPerson(services: Dependencies, tx: Transaction, actor: Actor, person: Prepared): Promise<boolean> {
  const { tenantId } = actor;
  const { freshAccountId, userId, email, passwordHash, isInvited, groupIds, at } = person;
  const displayName = person.displayName ?? email.slice(0, email.indexOf('@'));
  const fresh = { id: freshAccountId, email, passwordHash, emailVerifiedAt: null, at };
  const account = (await tx.first(insertAccountIfNew(fresh)))!;
  if (account.id !== freshAccountId && !isInvited) return false;
  const user = {
    tenantId,
    id: userId,
    accountId: account.id,
    email,
    displayName,
    fullName: person.fullName ?? displayName,
    locale: person.locale,
    isTenantAdmin: person.isTenantAdmin,
    status: isInvited ? ('invited' as const) : ('active' as const),
    at,
  };
  await tx.all(insertUser(user));
  if (groupIds.length > 0) await tx.all(insertGroupMemberships({ tenantId, userId, groupIds, at }));
  const details = { isTenantAdmin: person.isTenantAdmin, groupIds };
  const { tenantName, isProven } = person;
  if (isInvited) await sendInvitation(services, tx, account, { tenantId, userId, tenantName, isProven });
  else await tx.all(insertMembership({ accountId: account.id, tenantId, userId }));
  await tx.all(auditEvent(actor, at, { action: person.action, resourceType: 'user', resourceId: userId, details }));
  return true;
}
