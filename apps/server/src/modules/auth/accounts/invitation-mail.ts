import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import type { AccountState } from '#modules/auth/accounts/accounts.queries';
import { revokeInvitations, type Invitation } from '#modules/auth/accounts/invitations.queries';
import { TooManyInvitations } from '#modules/auth/auth.errors';
import { invitationMailAttempt } from '#modules/auth/login/throttle';
import { newOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

const invitationMs = 48 * 60 * 60_000;

/** Whether an invitation also sets the password: the one that is there may be of somebody who only claims the address. */
export function needsPassword(account: AccountState): boolean {
  return !account.has_password || account.email_verified_at === null;
}

/** Mails the link that proves the address and joins; an older link of the same invitation ends. Wake the mail afterwards. */
export async function sendInvitation(
  services: Services,
  tx: Transaction,
  account: AccountState,
  { tenantName, ...invitation }: Invitation & { tenantName: string },
): Promise<void> {
  const now = services.now();
  const accountId = account.id;
  const token = { purpose: 'invitation', accountId, payload: invitation, lifetimeMs: invitationMs } as const;
  const { secret, insert } = newOneTimeToken(services, token);
  await tx.all(revokeInvitations({ accountId, userId: invitation.userId, now: now.toISOString() }));
  await tx.all(insert);
  const link = `${services.settings.publicUrl}/accept-invitation#token=${secret}`;
  const what = needsPassword(account) ? 'Set your password to join' : 'Join';
  const text = `You are invited to ${tenantName}.\n\n${what} within two days:\n${link}\n\nIf you do not want to, ignore this mail: nothing has changed.\n`;
  const mail = { to: account.email, subject: `You are invited to ${tenantName}`, text };
  await tx.all(services.mail.compose(mail, now));
}

/** What sends an invitation, if the budgets of the recipient and the tenant allow it. @throws TooManyInvitations */
export async function withinMailBudget<Result>(
  services: Services,
  to: { email: string; tenantId: string },
  send: () => Promise<Result>,
): Promise<Result> {
  const attempt = invitationMailAttempt(services, to, TooManyInvitations);
  await attempt.admit();
  try {
    return await send();
  } catch (error) {
    await services.database.credential().slow.flight(attempt.refund());
    throw error;
  }
}
