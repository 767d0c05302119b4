import { auditEvent } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { newSecret } from '#core/crypto/secrets';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { insertAccountIfNew, insertMembership, insertOneTimeToken, insertUser } from '#modules/auth/accounts.queries';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import type { OneTimePurpose } from '#modules/auth/auth.tables';
import { normaliseEmail } from '#modules/auth/email-address';
import { sealPassword } from '#modules/auth/stored-password';

export type NewPerson = {
  email: string;
  password: string | undefined;
  displayName: string | undefined;
  fullName: string | undefined;
  locale: string;
  isTenantAdmin: boolean;
  tenantName: string;
};

const invitationMs = 48 * 60 * 60_000;

/** Which user a mailed invitation is for. */
export type Invitation = { tenantId: string; userId: string };

export function readInvitation(token: {
  purpose: OneTimePurpose;
  payload: Record<string, unknown>;
}): Invitation | undefined {
  return token.purpose === 'invitation' ? (token.payload as Invitation) : undefined;
}

/**
 * Makes a person a user of the actor's tenant: at once with the given password when the address is new, or when the
 * person has proven it before. Otherwise they are invited, and join by setting a password with a mailed link: an
 * account that somebody made with another's address would let them in here.
 * @returns the id of the new user. Fails on `users_account_key` when the person is a user there already.
 */
export async function addPerson(services: Services, actor: Actor, person: NewPerson): Promise<string> {
  const { tenantId } = actor;
  const email = normaliseEmail(person.email);
  const [freshAccountId, userId] = [newId(), newId()];
  const passwordHash =
    person.password === undefined ? null : await sealPassword(services, freshAccountId, person.password);
  const now = services.now();
  const at = now.toISOString();
  const displayName = person.displayName ?? email.slice(0, email.indexOf('@'));
  await services.database.credential(tenantId).transaction(async (tx) => {
    const account = (await tx.first(insertAccountIfNew({ id: freshAccountId, email, passwordHash, at })))!;
    const getsPassword = account.id === freshAccountId && passwordHash !== null;
    const isKnown = getsPassword || account.email_verified_at !== null;
    await tx.all(
      insertUser({
        tenantId,
        id: userId,
        accountId: account.id,
        email,
        displayName,
        fullName: person.fullName ?? displayName,
        locale: person.locale,
        isTenantAdmin: person.isTenantAdmin,
        status: isKnown ? 'active' : 'invited',
        at,
      }),
    );
    await tx.all(auditEvent(actor, at, { action: 'user.created', resourceType: 'user', resourceId: userId }));
    if (isKnown) await tx.all(insertMembership({ accountId: account.id, tenantId, userId }));
    if (getsPassword) return;
    const link = isKnown ? undefined : await invite(services, tx, account.id, { tenantId, userId });
    await tx.all(services.mail.compose(welcome(services, email, person.tenantName, link), now));
  });
  services.mail.wake();
  return userId;
}

/** @returns the link that proves the address, sets the password and accepts. */
async function invite(services: Services, tx: Transaction, accountId: string, invitation: Invitation): Promise<string> {
  const secret = newSecret();
  const now = services.now();
  const token: Parameters<typeof insertOneTimeToken>[0] = {
    hash: oneTimeTokenHash(secret)!,
    purpose: 'invitation',
    accountId,
    payload: invitation,
    at: now.toISOString(),
    expiresAt: new Date(now.getTime() + invitationMs).toISOString(),
  };
  await tx.all(insertOneTimeToken(token));
  return `${services.settings.publicUrl}/reset-password#token=${secret}`;
}

function welcome(services: Services, to: string, tenantName: string, link: string | undefined) {
  const text =
    link === undefined
      ? `You are now a member of ${tenantName}.\n\nLog in with the password you have: ${services.settings.publicUrl}\n`
      : `You are invited to ${tenantName}.\n\nSet your password within two days to join:\n${link}\n`;
  const subject = link === undefined ? `You are now a member of ${tenantName}` : `You are invited to ${tenantName}`;
  return { to, subject, text };
}
