import { auditEvent } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import {
  findAccountByAddress,
  insertAccountIfNew,
  insertMembership,
  insertUser,
} from '#modules/auth/accounts/accounts.queries';
import { sendInvitation, withinMailBudget } from '#modules/auth/accounts/invitation-mail';
import { insertGroupMemberships } from '#modules/auth/accounts/invitations.queries';
import { accountPlace, sealPassword } from '#modules/auth/passwords/stored-password';

export type NewPerson = {
  /** As `normaliseEmail` gives it. */
  email: string;
  /** Taken for an address that has no account yet. */
  password: string | undefined;
  displayName: string | undefined;
  fullName: string | undefined;
  locale: string;
  isTenantAdmin: boolean;
  groupIds: readonly string[];
  tenantName: string;
  /** What the audit trail calls it. */
  action: 'user.created' | 'user.invited';
};

type Prepared = NewPerson & {
  userId: string;
  freshAccountId: string;
  passwordHash: string | null;
  isInvited: boolean;
  at: string;
};

/**
 * Makes a person a user of the actor's tenant: at once when the address is new and comes with a password. Anybody else is
 * invited and joins with a mailed link: nobody is put into a tenant without their consent, and an account that somebody
 * made with another's address lets nobody in.
 * @returns the id of the new user. Fails on `users_account_key` when the person is a user there already.
 * @throws TooManyInvitations
 */
export async function addPerson(services: Services, actor: Actor, person: NewPerson): Promise<string> {
  const { tenantId } = actor;
  const { email, password } = person;
  const known = await services.database.credential().first(findAccountByAddress({ email }));
  const isInvited = known !== undefined || password === undefined;
  const freshAccountId = newId();
  const prepared: Prepared = {
    ...person,
    userId: newId(),
    freshAccountId,
    passwordHash: isInvited ? null : await sealPassword(services, accountPlace(freshAccountId), password),
    isInvited,
    at: services.now().toISOString(),
  };
  const insert = () =>
    services.database.credential(tenantId).transaction((tx) => insertPerson(services, tx, actor, prepared));
  const isAdded = isInvited ? await withinMailBudget(services, { email, tenantId }, insert) : await insert();
  // Somebody made the account in between, so now it is one that is invited.
  if (!isAdded) return addPerson(services, actor, person);
  if (isInvited) services.mail.wake();
  return prepared.userId;
}

/** False when the account is no new one any more. */
async function insertPerson(services: Services, tx: Transaction, actor: Actor, person: Prepared): Promise<boolean> {
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
  if (isInvited) await sendInvitation(services, tx, account, { tenantId, userId, tenantName: person.tenantName });
  else await tx.all(insertMembership({ accountId: account.id, tenantId, userId }));
  await tx.all(auditEvent(actor, at, { action: person.action, resourceType: 'user', resourceId: userId, details }));
  return true;
}
