import { setTimeout as sleep } from 'node:timers/promises';

import { addressFlow, flowOf } from '#core/base/access/flows';
import type { Actor, Person, RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { AppError } from '#core/base/errors/app-error';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Services } from '#core/platform/services';
import { auditInEach } from '#modules/auth/accounts/account-events';
import {
  findAccount,
  findAccountByEmail,
  findOneTimeToken,
  findPassword,
  listMemberships,
  lockAccountState,
  useOneTimeToken,
} from '#modules/auth/accounts/accounts.queries';
import { offerDisowning } from '#modules/auth/accounts/disowning.service';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import { acceptInvitation } from '#modules/auth/accounts/invitations.service';
import { OneTimeTokenRefused, PasswordChanged, TooManyFailures, WrongPassword } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import type { ChangePasswordBody, ResetPasswordBody } from '#modules/auth/auth.schemas';
import { loginAttempt, resetMailAttempt } from '#modules/auth/login/rate-limits';
import { replaceByMail, replacePassword } from '#modules/auth/passwords/replace-password';
import { accountPlace, openPasswordHash, sealPassword } from '#modules/auth/passwords/stored-password';
import { lockForChange } from '#modules/auth/sessions/assurance';
import { findKnownOrigin } from '#modules/auth/sessions/known-logins';
import { cancelVoidMails, mailOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'mail' | 'now' | 'passwords' | 'principals' | 'queue' | 'settings'
>;

const resetMs = 60 * 60_000;
/** Longer than writing a reset mail takes, so that the response time does not reveal whether one was written. */
const resetAnswerMs = 250;

/**
 * Changes the password of the caller and revokes every other session of the account.
 * @throws WrongPassword, PasswordChanged, TooManyFailures, AssuranceLimitedToTenant
 */
export async function changePassword(
  services: Dependencies,
  actor: Actor<Person>,
  body: ChangePasswordBody,
): Promise<void> {
  const { accountId, request } = actor;
  const db = services.database.credential();
  const { password_hash: sealed, password_changed_at: provenAt } = (await db.first(findPassword({ accountId })))!;
  // The request was sent before another one changed the password, so it does not guess the new one.
  if (provenAt !== null && Date.parse(provenAt) > request.receivedAt) throw PasswordChanged();
  const knownOrigin = await findKnownOrigin(services, accountId, request);
  const attempt = loginAttempt(services, { email: actor.email, knownOrigin }, request.ip, TooManyFailures);
  const stored = openPasswordHash(services, accountPlace(accountId), sealed);
  const matches = await services.passwords.verify(body.currentPassword, stored, flowOf(actor), () => attempt.admit());
  if (!matches) {
    await auditRefusal(services, actor);
    throw WrongPassword();
  }
  // A request with the right password does not guess, even if the change fails.
  await db.interactive.batch(attempt.refund());
  const passwordHash = await sealPassword(services, accountPlace(accountId), body.newPassword, flowOf(actor));
  const change = {
    accountId,
    provenAt,
    passwordHash,
    keepSessionId: actor.sessionId,
    action: 'auth.password_changed',
    request,
    at: services.now().toISOString(),
    also: [],
  };
  const changed = await db.transaction(async (tx) => {
    await lockForChange(tx, actor);
    return replacePassword(tx, change);
  });
  services.principals.forget(`account:${accountId}`);
  if (!changed) throw PasswordChanged();
  await cancelVoidMails(services, accountId);
}

async function auditRefusal(services: Dependencies, actor: Actor<Person>): Promise<void> {
  const { homeTenantId: tenantId, userId, request } = actor;
  const event = { action: 'auth.password_change_failed', resourceType: 'account' };
  const row = auditEvent({ tenantId, userId, request }, services.now().toISOString(), event);
  await services.database.credential(tenantId).interactive.all(row);
}

/** Sends a reset link if the address has an account. Neither the answer nor its timing reveals it. */
export async function forgotPassword(services: Dependencies, address: string, request: RequestFacts): Promise<void> {
  const email = normaliseEmail(address);
  await resetMailAttempt(services, email, TooManyFailures).admit();
  await Promise.all([mailResetLink(services, email, request), sleep(resetAnswerMs)]);
}

async function mailResetLink(services: Dependencies, email: string, request: RequestFacts): Promise<void> {
  const at = services.now().toISOString();
  const db = services.database.credential();
  const account = await db.first(findAccountByEmail({ email }));
  if (account === undefined) return;
  const mailId = newId();
  const token = { purpose: 'password_reset', accountId: account.id, mailId, lifetimeMs: resetMs } as const;
  const memberships = await db.all(listMemberships({ accountId: account.id }));
  await db.transaction(async (tx) => {
    const state = await tx.first(findAccount({ accountId: account.id }));
    const disowning = state && (await offerDisowning(services, tx, state, { mailId }));
    if (disowning !== undefined) await tx.all(disowning.insert);
    const mail = mailOneTimeToken(services, token, (secret) => {
      const link = `${services.settings.publicUrl}/reset-password#token=${secret}`;
      return { to: email, subject: 'Set a new password', text: `${resetText(link)}${disowning?.text ?? ''}` };
    });
    for (const query of mail) await tx.all(query);
    await auditInEach(tx, memberships, request, { action: 'auth.password_reset_requested', at });
  });
  await cancelVoidMails(services, account.id);
  services.mail.wake();
}

/**
 * Sets a new password by a token from a mail, revokes all sessions and removes the login lock. The token verifies the
 * address, because it came by mail. It also accepts an invitation that would require a password.
 * @throws OneTimeTokenRefused
 */
export async function resetPassword(
  services: Dependencies,
  body: ResetPasswordBody,
  request: RequestFacts,
): Promise<void> {
  const hash = oneTimeTokenHash(body.token);
  if (hash === undefined) throw OneTimeTokenRefused();
  const now = services.now().toISOString();
  const purposes = ['password_reset', 'invitation'] as const;
  const token = await services.database.credential().first(findOneTimeToken({ hash, purposes, now }));
  if (token === undefined) throw OneTimeTokenRefused();
  const { account_id: accountId, purpose } = token;
  if (purpose === 'invitation') return joinWithPassword(services, body, request);
  const passwordHash = await sealPassword(services, accountPlace(accountId), body.password, addressFlow(request.ip));
  const at = services.now().toISOString();
  await services.database.credential().transaction(async (tx) => {
    const account = await tx.first(lockAccountState({ accountId }));
    const used = await tx.first(useOneTimeToken({ hash, purpose, now: at }));
    if (account === undefined || used === undefined) throw OneTimeTokenRefused();
    await replaceByMail(services, tx, account, { passwordHash, request, at });
  });
  services.principals.forget(`account:${accountId}`);
  await cancelVoidMails(services, accountId);
}

async function joinWithPassword(services: Dependencies, body: ResetPasswordBody, request: RequestFacts): Promise<void> {
  await acceptInvitation(services, body, request).catch((error: unknown) => {
    // For an account with a verified address, only a reset link that its owner requested sets the password.
    throw error instanceof AppError && error.status === 422 ? OneTimeTokenRefused() : error;
  });
}

function resetText(link: string): string {
  return `We received a request to reset your password.\n\nSet a new one here within one hour:\n${link}\n\nIf you did not request this, ignore this mail: nothing has changed.\n`;
}
