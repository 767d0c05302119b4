import { newId } from '#core/base/crypto/ids';
import { newSecret } from '#core/base/crypto/secrets';
import type { Query } from '#core/data/db/query';
import type { Services } from '#core/platform/services';
import { insertOneTimeToken, listVoidMails } from '#modules/auth/accounts/accounts.queries';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';

type Wanted = Omit<Parameters<typeof insertOneTimeToken>[0], 'hash' | 'payload' | 'at' | 'expiresAt'> & {
  payload?: Record<string, unknown>;
  lifetimeMs: number;
};

/** A secret that is valid once until its expiry, and the statement that stores its hash. */
export function newOneTimeToken(
  { now }: Pick<Services, 'now'>,
  { purpose, accountId, payload = {}, lifetimeMs }: Wanted,
): { secret: string; insert: Query<never>; expiresAt: string } {
  const secret = newSecret();
  const begins = now();
  const expiresAt = new Date(begins.getTime() + lifetimeMs).toISOString();
  const insert = insertOneTimeToken({
    hash: oneTimeTokenHash(secret)!,
    purpose,
    accountId,
    payload,
    at: begins.toISOString(),
    expiresAt,
  });
  return { secret, insert, expiresAt };
}

type TokenMail = { to: string; subject: string; text: string; tenantId?: string };

/**
 * The statements that mail a one-time token. After their commit, wake the mail relay, and call `cancelVoidMails` if the
 * token supersedes others.
 */
export function mailOneTimeToken(
  services: Pick<Services, 'now' | 'mail'>,
  { payload, mailId: id = newId(), ...wanted }: Wanted & { mailId?: string },
  write: (secret: string) => TokenMail,
): [Query<never>, Query<never>] {
  const { secret, insert, expiresAt } = newOneTimeToken(services, { ...wanted, payload: { ...payload, mailId: id } });
  return [insert, services.mail.compose({ id, expiresAt, ...write(secret) }, services.now())];
}

/** Cancels the mails to an account that still wait with a void token; call it after the commit that made it void. */
export async function cancelVoidMails(
  { database, mail, now }: Pick<Services, 'database' | 'mail' | 'now'>,
  accountId: string,
): Promise<void> {
  const mails = await database.credential().all(listVoidMails({ accountId, now: now().toISOString() }));
  await mail.cancel(mails.map(({ mail_id: id }) => id));
}
