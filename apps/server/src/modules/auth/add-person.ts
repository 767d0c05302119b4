import { auditEvent } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { newSecret } from '#core/crypto/secrets';
import type { Services } from '#core/services';
import { insertAccountIfNew, insertMembership, insertOneTimeToken, insertUser } from '#modules/auth/accounts.queries';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
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

const setPasswordMs = 48 * 60 * 60_000;

/**
 * Makes a person a user of the actor's tenant. Who has an account already keeps its password and is told
 * by mail; who has none gets one, with the given password or with a mailed link to set it.
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
    const account = await tx.first(insertAccountIfNew({ id: freshAccountId, email, passwordHash, at }));
    const accountId = account!.id;
    const isNew = accountId === freshAccountId;
    await tx.all(
      insertUser({
        tenantId,
        id: userId,
        accountId,
        email,
        displayName,
        fullName: person.fullName ?? displayName,
        locale: person.locale,
        isTenantAdmin: person.isTenantAdmin,
        at,
      }),
    );
    await tx.all(insertMembership({ accountId, tenantId, userId }));
    await tx.all(
      auditEvent(actor, at, {
        action: 'user.created',
        resourceType: 'user',
        resourceId: userId,
      }),
    );
    if (isNew && person.password !== undefined) return;
    const token = isNew ? newSecret() : undefined;
    if (token !== undefined) {
      const expiresAt = new Date(now.getTime() + setPasswordMs).toISOString();
      await tx.all(
        insertOneTimeToken({
          hash: oneTimeTokenHash(token)!,
          purpose: 'password_reset',
          accountId,
          payload: {},
          at,
          expiresAt,
        }),
      );
    }
    await tx.all(services.mail.compose(welcome(services, email, person.tenantName, token), now));
  });
  services.mail.wake();
  return userId;
}

function welcome(services: Services, to: string, tenantName: string, token: string | undefined) {
  const { publicUrl } = services.settings;
  const next =
    token === undefined
      ? `Log in with the password you have: ${publicUrl}`
      : `Set your password within two days:\n${publicUrl}/reset-password#token=${token}`;
  return {
    to,
    subject: `You are now a member of ${tenantName}`,
    text: `You are now a member of ${tenantName}.\n\n${next}\n`,
  };
}
