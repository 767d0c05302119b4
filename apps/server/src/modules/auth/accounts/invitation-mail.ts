import type { Transaction } from '#core/data/db/scopes';
import { plainName } from '#core/platform/mail/plain-name';
import type { Services } from '#core/platform/services';
import { findAccountByAddress, type AccountState } from '#modules/auth/accounts/accounts.queries';
import { offerDisowning } from '#modules/auth/accounts/disowning.service';
import {
  findProvenAdministrator,
  revokeInvitations,
  type Invitation,
} from '#modules/auth/accounts/invitations.queries';
import { TooManyInvitations } from '#modules/auth/auth.errors';
import { invitationMailAttempt } from '#modules/auth/login/rate-limits';
import { cancelVoidMails, mailOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'mail' | 'now' | 'principals' | 'queue' | 'settings'
>;

const invitationMs = 48 * 60 * 60_000;

/**
 * Whether an invitation also sets the password: an existing password may belong to a person who only claims the
 * address.
 */
export function needsPassword(account: AccountState): boolean {
  return !account.has_password || account.email_verified_at === null;
}

/** The name of the tenant for mails to strangers. */
export type InvitingTenant = { tenantName: string; isProven: boolean };

/**
 * Mails the link that verifies the address and joins; older links of the same invitation are revoked. After the commit,
 * wake the mail relay and cancel void mails.
 */
export async function sendInvitation(
  services: Dependencies,
  tx: Transaction,
  account: AccountState,
  { tenantId, userId, ...tenant }: Invitation & InvitingTenant,
): Promise<void> {
  const accountId = account.id;
  const payload: Invitation = { tenantId, userId };
  const token = { purpose: 'invitation', accountId, payload, lifetimeMs: invitationMs } as const;
  await tx.all(revokeInvitations({ accountId, userId, now: services.now().toISOString() }));
  const what = needsPassword(account) ? 'Set your password to join' : 'Join';
  const subject = subjectFor(tenant);
  const disowning = await offerDisowning(services, tx, account);
  if (disowning !== undefined) await tx.all(disowning.insert);
  const mail = mailOneTimeToken(services, token, (secret) => {
    const link = `${services.settings.publicUrl}/accept-invitation#token=${secret}`;
    const text = `${subject}.\n\n${what} within two days:\n${link}\n\nIf you do not want to join, ignore this mail: nothing has changed.\n${disowning?.text ?? ''}`;
    return { to: account.email, subject, text, tenantId };
  });
  for (const query of mail) await tx.all(query);
}

/** Without a verified administrator, the name of a tenant could contain any message to strangers. */
function subjectFor({ tenantName, isProven }: InvitingTenant): string {
  const name = isProven ? plainName(tenantName) : '';
  return name === '' ? 'You are invited to join a tenant' : `You are invited to ${name}`;
}

/** Revokes the links of an invitation of a deleted user, and cancels mails that still wait. */
export async function withdrawInvitation(
  services: Dependencies,
  { userId, email }: { userId: string; email: string },
): Promise<void> {
  const db = services.database.credential();
  const account = await db.first(findAccountByAddress({ email }));
  if (account === undefined) return;
  const now = services.now().toISOString();
  await db.interactive.all(revokeInvitations({ accountId: account.id, userId, now }));
  await cancelVoidMails(services, account.id);
}

/**
 * Runs `send` if the rate limits of recipient and tenant permit it.
 * @throws TooManyInvitations
 */
export async function withinMailBudget<Result>(
  services: Dependencies,
  to: { email: string; tenantId: string },
  send: (isProven: boolean) => Promise<Result>,
): Promise<Result> {
  const { tenantId } = to;
  const administrator = await services.database.credential(tenantId).first(findProvenAdministrator({ tenantId }));
  const isProven = administrator !== undefined;
  const attempt = invitationMailAttempt(services, { ...to, isProven }, TooManyInvitations);
  await attempt.admit();
  try {
    return await send(isProven);
  } catch (error) {
    await services.database.credential().interactive.batch(attempt.refund());
    throw error;
  }
}
