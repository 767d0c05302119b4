import { addressFlow } from '#core/base/access/flows';
import type { Actor, Person, RequestFacts } from '#core/base/access/principal';
import type { Flow } from '#core/base/concurrency/fair-queue';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import type { ReadStatement } from '#core/data/db/query';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  findAccount,
  findAccountByAddress,
  findInvitation,
  insertMembership,
  lockAccountState,
  useOneTimeToken,
  type AccountState,
} from '#modules/auth/accounts/accounts.queries';
import type { AcceptInvitationBody } from '#modules/auth/accounts/accounts.schemas';
import { needsPassword, sendInvitation, withinMailBudget } from '#modules/auth/accounts/invitation-mail';
import {
  activateUser,
  deleteGroupMemberships,
  dropInvitedUser,
  findInvitedUser,
  listInvitationTokens,
  lockInvitedUser,
  type Invitation,
  type InvitationToken,
} from '#modules/auth/accounts/invitations.queries';
import {
  InvitationNotFound,
  OneTimeTokenRefused,
  PasswordAlreadySet,
  PasswordRequired,
} from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { replaceByMail } from '#modules/auth/passwords/replace-password';
import { accountPlace, sealPassword } from '#modules/auth/passwords/stored-password';
import { lockForChange } from '#modules/auth/sessions/assurance';
import { cancelVoidMails } from '#modules/auth/tokens/one-time-tokens';
import { removeContactsOfUser } from '#modules/contacts/index';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'mail' | 'now' | 'passwords' | 'principals' | 'queue' | 'settings'
>;

type Joined = { message: string; data: { tenantId: string; tenantName: string } };
type Joining = { accountId: string; hash: Buffer; invitation: Invitation; request: RequestFacts; at: string };

/**
 * Joins with a mailed link. If the address is unverified or the account has no password, the link also sets the
 * password, as a reset does. The password of a verified account never changes.
 * @throws OneTimeTokenRefused, PasswordRequired, PasswordAlreadySet
 */
export async function acceptInvitation(
  services: Dependencies,
  body: AcceptInvitationBody,
  request: RequestFacts,
): Promise<Joined> {
  const hash = oneTimeTokenHash(body.token);
  if (hash === undefined) throw OneTimeTokenRefused();
  const at = services.now().toISOString();
  const db = services.database.credential();
  const found = await db.first(findInvitation({ hash, now: at }));
  if (found === undefined) throw OneTimeTokenRefused();
  const { payload, ...account } = found;
  const passwordHash = await newPasswordHash(services, account, body.password, addressFlow(request.ip));
  const joining = { accountId: account.id, hash, invitation: payload as Invitation, request, at };
  const joined = await db.transaction(async (tx) => {
    const locked = await tx.first(lockAccountState({ accountId: account.id }));
    if (locked === undefined || needsPassword(locked) !== needsPassword(account)) return undefined;
    if (passwordHash !== undefined) await replaceByMail(services, tx, locked, { passwordHash, request, at });
    const done = await join(tx, joining);
    if (done === undefined) throw OneTimeTokenRefused();
    return done;
  });
  // The account has changed meanwhile, so its requirements are evaluated again.
  if (joined === undefined) return acceptInvitation(services, body, request);
  if (passwordHash !== undefined) services.principals.forget(`account:${account.id}`);
  await cancelVoidMails(services, account.id);
  return joined;
}

async function newPasswordHash(
  services: Dependencies,
  account: AccountState,
  password: string | undefined,
  flow: Flow,
): Promise<string | undefined> {
  const isNeeded = needsPassword(account);
  if (isNeeded && password === undefined) throw PasswordRequired();
  if (!isNeeded && password !== undefined) throw PasswordAlreadySet();
  return password === undefined ? undefined : sealPassword(services, accountPlace(account.id), password, flow);
}

/** Consumes the invitation, in a transaction that holds the account. Undefined if it is used or withdrawn. */
async function join(tx: Transaction, joining: Joining): Promise<Joined | undefined> {
  const { accountId, invitation, request, at } = joining;
  const { tenantId, userId } = invitation;
  const user = await useInvitation(tx, joining);
  if (user === undefined || (await tx.first(activateUser({ ...invitation, at }))) === undefined) return undefined;
  await tx.all(insertMembership({ accountId, tenantId, userId }));
  const event = { action: 'user.joined', resourceType: 'user', resourceId: userId };
  await tx.all(auditEvent({ tenantId, userId, request }, at, event));
  const { tenant_name: tenantName } = user;
  return { message: `You are now a member of ${tenantName}.`, data: { tenantId, tenantName } };
}

/** The invited user; the transaction has then entered the tenant of the user. */
async function useInvitation(tx: Transaction, { hash, invitation, at }: Joining) {
  const used = await tx.first(useOneTimeToken({ hash, purpose: 'invitation', now: at }));
  if (used === undefined) return undefined;
  await tx.all(enterTenant(invitation.tenantId));
  return tx.first(findInvitedUser(invitation));
}

/** Mails a new link and revokes the old one. False if the user is no longer invited. @throws TooManyInvitations */
export async function sendInvitationAgain(
  services: Dependencies,
  actor: Actor,
  { userId, email }: { userId: string; email: string },
): Promise<boolean> {
  const { tenantId } = actor;
  const db = services.database.credential(tenantId);
  const account = await db.first(findAccountByAddress({ email }));
  if (account === undefined) return false;
  const replaced = await withinMailBudget(services, { email, tenantId }, (isProven) =>
    db.transaction(async (tx) => {
      const locked = await tx.first(lockAccountState({ accountId: account.id }));
      await tx.all(lockInvitedUser({ tenantId, userId }));
      const user = await tx.first(findInvitedUser({ tenantId, userId }));
      if (locked === undefined || user === undefined) return undefined;
      const tenant = { tenantName: user.tenant_name, isProven };
      await sendInvitation(services, tx, locked, { tenantId, userId, ...tenant });
      const event = { action: 'user.invitation_sent', resourceType: 'user', resourceId: userId };
      await tx.all(auditEvent(actor, services.now().toISOString(), event));
      return user;
    }),
  );
  await cancelVoidMails(services, account.id);
  services.mail.wake();
  return replaced !== undefined;
}

/**
 * The open invitations of the caller. An account with an unverified address sees none, because the address may belong
 * to another person.
 */
export async function listOwnInvitations(services: Dependencies, actor: Actor<Person>) {
  const tokens = await findOwnTokens(services, actor);
  const waiting = await services.database.credential().batch(
    // Each tenant is entered before its user is read, all in one pipelined batch.
    tokens.flatMap(({ payload }): ReadStatement<{ tenant_name: string }>[] => [
      enterTenant(payload.tenantId),
      findInvitedUser(payload),
    ]),
  );
  return {
    data: tokens.flatMap(({ payload, created_at: invitedAt, expires_at: expiresAt }, at) => {
      const [user] = waiting[2 * at + 1]!;
      if (user === undefined) return [];
      const { tenantId, userId: id } = payload;
      return [{ id, tenantId, tenantName: user.tenant_name, invited_at: invitedAt, expires_at: expiresAt }];
    }),
  };
}

async function findOwnTokens(services: Dependencies, { accountId }: Actor<Person>): Promise<InvitationToken[]> {
  const db = services.database.credential();
  const account = await db.first(findAccount({ accountId }));
  if (account === undefined || account.email_verified_at === null) return [];
  return db.all(listInvitationTokens({ accountId, now: services.now().toISOString() }));
}

/** @throws InvitationNotFound, AssuranceLimitedToTenant */
export async function acceptOwnInvitation(services: Dependencies, actor: Actor<Person>, id: string): Promise<Joined> {
  return withOwnInvitation(services, actor, { id, work: join });
}

/** Removes the invited user from the tenant. @throws InvitationNotFound, AssuranceLimitedToTenant */
export async function declineOwnInvitation(services: Dependencies, actor: Actor<Person>, id: string): Promise<void> {
  await withOwnInvitation(services, actor, { id, work: decline });
}

async function withOwnInvitation<Result>(
  services: Dependencies,
  actor: Actor<Person>,
  { id, work }: { id: string; work: (tx: Transaction, joining: Joining) => Promise<Result | undefined> },
): Promise<Result> {
  const { accountId, request } = actor;
  const token = (await findOwnTokens(services, actor)).find(({ payload }) => payload.userId === id);
  if (token === undefined) throw InvitationNotFound();
  const at = services.now().toISOString();
  const joining = { accountId, hash: token.hash, invitation: token.payload, request, at };
  const done = await services.database.credential().transaction(async (tx) => {
    await lockForChange(tx, actor);
    const result = await work(tx, joining);
    if (result === undefined) throw InvitationNotFound();
    return result;
  });
  await cancelVoidMails(services, accountId);
  return done;
}

async function decline(tx: Transaction, joining: Joining): Promise<{ id: string } | undefined> {
  const { invitation, request, at } = joining;
  const { tenantId, userId } = invitation;
  if ((await useInvitation(tx, joining)) === undefined) return undefined;
  const dropped = await tx.first(dropInvitedUser({ ...invitation, at }));
  if (dropped === undefined) return undefined;
  await tx.all(deleteGroupMemberships(invitation));
  await removeContactsOfUser(tx, tenantId, userId);
  const event = { action: 'user.declined', resourceType: 'user', resourceId: userId };
  await tx.all(auditEvent({ tenantId, userId, request }, at, event));
  return dropped;
}
