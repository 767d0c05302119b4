import type { Actor, Person, RequestFacts } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Query } from '#core/data/db/query';
import type { Services } from '#core/platform/services';
import { auditInEach } from '#modules/auth/accounts/account-events';
import {
  findAccount,
  findOneTimeToken,
  listMemberships,
  lockAccount,
  markEmailVerified,
  useOneTimeToken,
} from '#modules/auth/accounts/accounts.queries';
import { EmailVerified, OneTimeTokenRefused, TooManyVerifications } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { verificationMailAttempt } from '#modules/auth/login/rate-limits';
import { cancelVoidMails, mailOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'mail' | 'now' | 'settings'>;

const verificationMs = 48 * 60 * 60_000;

/** The statements that mail a link to the address of an account; wake the mail relay afterwards. */
export function sendVerification(
  services: Dependencies,
  { accountId, email }: { accountId: string; email: string },
): [Query<never>, Query<never>] {
  const token = { purpose: 'email_verification', accountId, lifetimeMs: verificationMs } as const;
  return mailOneTimeToken(services, token, (secret) => {
    const link = `${services.settings.publicUrl}/verify-email#token=${secret}`;
    const text = `An account was created with this address.\n\nIf you created it, confirm the address within two days:\n${link}\n\nIf it was not you, do not open the link: it would confirm another person's account as yours.\n`;
    return { to: email, subject: 'Confirm your address', text };
  });
}

/** Verifies the address of an account by the token of a mail, once. @throws OneTimeTokenRefused */
export async function verifyEmail(services: Dependencies, token: string, request: RequestFacts): Promise<void> {
  const hash = oneTimeTokenHash(token);
  if (hash === undefined) throw OneTimeTokenRefused();
  const at = services.now().toISOString();
  const purpose = 'email_verification' as const;
  const db = services.database.credential();
  const found = await db.first(findOneTimeToken({ hash, purposes: [purpose], now: at }));
  if (found === undefined) throw OneTimeTokenRefused();
  const { account_id: accountId } = found;
  await db.transaction(async (tx) => {
    await tx.first(lockAccount({ accountId, provenAt: null }));
    if ((await tx.first(useOneTimeToken({ hash, purpose, now: at }))) === undefined) throw OneTimeTokenRefused();
    await tx.all(markEmailVerified({ accountId, at }));
    const memberships = await tx.all(listMemberships({ accountId }));
    await auditInEach(tx, memberships, request, { action: 'auth.email_verified', at });
  });
  await cancelVoidMails(services, accountId);
}

/** Sends another verification mail to the caller. @throws EmailVerified, TooManyVerifications */
export async function resendVerification(services: Dependencies, actor: Actor<Person>): Promise<void> {
  const { accountId, email, homeTenantId: tenantId } = actor;
  const account = await services.database.credential().first(findAccount({ accountId }));
  if (account?.email_verified_at !== null) throw EmailVerified();
  await verificationMailAttempt(services, email, TooManyVerifications).admit();
  const event = { action: 'auth.email_verification_requested', resourceType: 'account' };
  await services.database
    .credential(tenantId)
    .interactive.batch([
      ...sendVerification(services, { accountId, email }),
      auditEvent({ ...actor, tenantId }, services.now().toISOString(), event),
    ]);
  await cancelVoidMails(services, accountId);
  services.mail.wake();
}
