import { setTimeout as sleep } from 'node:timers/promises';

import { auditEvent } from '#core/audit/audit.queries';
import type { Actor, RequestFacts } from '#core/access/principal';
import { announceRevocation } from '#core/access/revocation';
import { newSecret } from '#core/crypto/secrets';
import { enterTenant } from '#core/db/database';
import type { Query } from '#core/db/query';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import {
  activateUser,
  findAccountByEmail,
  findOneTimeToken,
  findPassword,
  insertMembership,
  insertOneTimeToken,
  listMemberships,
  markEmailVerified,
  revokeOneTimeTokens,
  updatePasswordHash,
  useOneTimeToken,
} from '#modules/auth/accounts.queries';
import { readInvitation, type Invitation } from '#modules/auth/add-person';
import type { OneTimePurpose } from '#modules/auth/auth.tables';
import { OneTimeTokenRefused, TooManyFailures, WrongPassword } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { normaliseEmail } from '#modules/auth/email-address';
import type { ChangePasswordBody, ResetPasswordBody } from '#modules/auth/auth.schemas';
import { endAccountSessions } from '#modules/auth/sessions.queries';
import { openPasswordHash, sealPassword } from '#modules/auth/stored-password';
import { loginAttempt, resetMailAttempt } from '#modules/auth/throttle';

const resetMs = 60 * 60_000;
/** More than a reset mail costs to write, so that the time of the answer does not tell whether one was. */
const resetAnswerMs = 250;

/** Changes one's own password and ends every other session of the account. @throws WrongPassword, TooManyFailures */
export async function changePassword(services: Services, actor: Actor, body: ChangePasswordBody): Promise<void> {
  const { accountId } = actor;
  const row = await services.database.credential().first(findPassword({ accountId }));
  const attempt = loginAttempt(services, actor.email, actor.request.ip, TooManyFailures);
  const stored = openPasswordHash(services, accountId, row?.password_hash ?? null);
  const matches = await services.passwords.verify(body.currentPassword, stored, () => attempt.admit());
  if (!matches) {
    await auditRefusal(services, actor);
    throw WrongPassword();
  }
  const changed = await setPassword(services, {
    accountId,
    provenAt: row?.password_changed_at ?? null,
    passwordHash: await sealPassword(services, accountId, body.newPassword),
    keepSessionId: actor.sessionId,
    action: 'auth.password_changed',
    request: actor.request,
    also: attempt.refund(),
  });
  // Somebody set another password meanwhile, so the proven one is not the current one any more.
  if (!changed) throw WrongPassword();
}

async function auditRefusal(services: Services, actor: Actor): Promise<void> {
  const { homeTenantId: tenantId, userId, request } = actor;
  const event = { action: 'auth.password_change_failed', resourceType: 'account' };
  const row = auditEvent({ tenantId, userId, request }, services.now().toISOString(), event);
  await services.database.credential(tenantId).slow.all(row);
}

/** Sends a reset link if the address has an account. The caller learns nothing either way, not even from the time. */
export async function forgotPassword(services: Services, address: string, request: RequestFacts): Promise<void> {
  const email = normaliseEmail(address);
  await resetMailAttempt(services, email, TooManyFailures).admit();
  await Promise.all([mailResetLink(services, email, request), sleep(resetAnswerMs)]);
}

async function mailResetLink(services: Services, email: string, request: RequestFacts): Promise<void> {
  const secret = newSecret();
  const now = services.now();
  const at = now.toISOString();
  const db = services.database.credential();
  const account = await db.first(findAccountByEmail({ email }));
  if (account === undefined) return;
  const link = `${services.settings.publicUrl}/reset-password#token=${secret}`;
  const mail = services.mail.compose({ to: email, subject: 'Set a new password', text: resetText(link) }, now);
  const expiresAt = new Date(now.getTime() + resetMs).toISOString();
  const memberships = await db.all(listMemberships({ accountId: account.id }));
  const token: Parameters<typeof insertOneTimeToken>[0] = {
    hash: oneTimeTokenHash(secret)!,
    purpose: 'password_reset',
    accountId: account.id,
    payload: {},
    at,
    expiresAt,
  };
  await db.transaction(async (tx) => {
    await tx.all(insertOneTimeToken(token));
    await tx.all(mail);
    await auditInEach(tx, memberships, request, { action: 'auth.password_reset_requested', at });
  });
  services.mail.wake();
}

/**
 * Sets a new password by a token from a mail and ends all sessions. The token came by mail, so the address is proven
 * to be the person's; that of an invitation makes them an active user of the inviting tenant as well.
 * @throws OneTimeTokenRefused
 */
export async function resetPassword(services: Services, body: ResetPasswordBody, request: RequestFacts): Promise<void> {
  const hash = oneTimeTokenHash(body.token);
  if (hash === undefined) throw OneTimeTokenRefused();
  const now = services.now().toISOString();
  const purposes = ['password_reset', 'invitation'] as const;
  const token = await services.database.credential().first(findOneTimeToken({ hash, purposes, now }));
  if (token === undefined) throw OneTimeTokenRefused();
  const accountId = token.account_id;
  await setPassword(services, {
    accountId,
    provenAt: null,
    passwordHash: await sealPassword(services, accountId, body.password),
    keepSessionId: null,
    action: 'auth.password_reset',
    request,
    mailed: { hash, purpose: token.purpose, invitation: readInvitation(token) },
    also: [],
  });
}

type PasswordChange = {
  accountId: string;
  /** When the password that was proven had been set; null where none was asked for. */
  provenAt: string | null;
  passwordHash: string;
  keepSessionId: string | null;
  action: string;
  request: RequestFacts;
  /** The token of a mail, used up in the same transaction; another use of it meanwhile undoes the change. */
  mailed?: { hash: Buffer; purpose: OneTimePurpose; invitation: Invitation | undefined };
  also: Query<never>[];
};

async function setPassword(services: Services, change: PasswordChange): Promise<boolean> {
  const { accountId, passwordHash, provenAt, mailed, request } = change;
  const at = services.now().toISOString();
  const db = services.database.credential();
  const changed = await db.transaction(async (tx) => {
    // The account first, as everywhere: two that lock in different orders would block each other.
    if ((await tx.first(updatePasswordHash({ accountId, passwordHash, provenAt, at }))) === undefined) return false;
    const memberships = await tx.all(listMemberships({ accountId }));
    if (mailed !== undefined) {
      const token = await tx.first(useOneTimeToken({ hash: mailed.hash, purpose: mailed.purpose, now: at }));
      if (token === undefined) throw OneTimeTokenRefused();
      await tx.all(markEmailVerified({ accountId, at }));
    }
    await tx.all(revokeOneTimeTokens({ accountId, now: at }));
    for (const query of change.also) await tx.all(query);
    for (const { tenant_id: tenantId } of memberships) {
      await tx.all(endAccountSessions({ tenantId, accountId, exceptSessionId: change.keepSessionId, at }));
    }
    await auditInEach(tx, memberships, request, { action: change.action, at });
    if (mailed?.invitation !== undefined) await acceptInvitation(tx, accountId, mailed.invitation, { request, at });
    await tx.all(announceRevocation(`account:${accountId}`));
    return true;
  });
  services.principals.forget(`account:${accountId}`);
  return changed;
}

async function acceptInvitation(
  tx: Transaction,
  accountId: string,
  { tenantId, userId }: Invitation,
  { request, at }: { request: RequestFacts; at: string },
): Promise<void> {
  await tx.all(enterTenant(tenantId));
  if ((await tx.first(activateUser({ tenantId, userId, at }))) === undefined) return;
  await tx.all(insertMembership({ accountId, tenantId, userId }));
  const event = { action: 'user.joined', resourceType: 'user', resourceId: userId };
  await tx.all(auditEvent({ tenantId, userId, request }, at, event));
}

/** What happens to an account concerns every tenant it belongs to. */
async function auditInEach(
  tx: Transaction,
  memberships: readonly { tenant_id: string; user_id: string }[],
  request: RequestFacts,
  event: { action: string; at: string },
): Promise<void> {
  for (const { tenant_id: tenantId, user_id: userId } of memberships) {
    await tx.all(enterTenant(tenantId));
    await tx.all(
      auditEvent({ tenantId, userId, request }, event.at, { action: event.action, resourceType: 'account' }),
    );
  }
}

function resetText(link: string): string {
  return `Somebody, hopefully you, asked for a new password.\n\nSet it here within one hour:\n${link}\n\nIf it was not you, ignore this mail: nothing has changed.\n`;
}
