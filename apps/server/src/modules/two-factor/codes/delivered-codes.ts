import { newId } from '#core/base/crypto/ids';
import { keyedHash, newDigits } from '#core/base/crypto/secrets';
import type { Query } from '#core/data/db/query';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { findMessageRoute, NoDeliveryChannel, sendMessage, type MessageRoute } from '#modules/connectors/index';
import type { Proof } from '#modules/two-factor/account';
import { FactorOfOtherTenant, NoMailServer } from '#modules/two-factor/two-factor.errors';
import { consumeCode, insertCode } from '#modules/two-factor/two-factor.queries';
import { codeLifeSeconds, withoutGaps } from '#modules/two-factor/two-factor.rules';
import type { DeliveredMethod } from '#modules/two-factor/two-factor.schemas';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'mail' | 'now' | 'outbound'>;

/** A stored code that waits for delivery. */
export type CodeMessage = { method: DeliveredMethod; target: string; code: string; superseded: readonly string[] };

const digits = 6;
const purpose = 'two-factor-codes';

/** The current route of a code, and what the code would prove. */
export type Delivery = Proof & { tenantId: string; route: MessageRoute | undefined };

/**
 * E-mail uses the mail server of the installation. Other codes use the connectors of the tenant only if the factor was
 * set up in it: any other tenant of the user could read them and use them.
 * @throws NoMailServer, NoDeliveryChannel, FactorOfOtherTenant, OperationDisabled
 */
export async function findDelivery(
  services: Dependencies,
  tenantId: string,
  { method, enrolledIn }: { method: DeliveredMethod; enrolledIn: string | null },
): Promise<Delivery> {
  if (method === 'email') {
    if (!services.mail.canDeliver) throw NoMailServer();
    return { tenantId, accountWide: true, route: undefined };
  }
  const onlyInstallation = enrolledIn !== tenantId;
  const route = await findMessageRoute(services, { tenantId, channel: method, onlyInstallation });
  if (route === undefined) throw onlyInstallation ? FactorOfOtherTenant() : NoDeliveryChannel();
  return { tenantId, accountWide: !route.isOfTenant, route };
}

/** Stores a new code for one session, together with its mail, after the statement that deletes the superseded ones. */
export async function issueCode(
  services: Dependencies,
  tx: Transaction,
  to: { accountId: string; sessionId: string; method: DeliveredMethod; target: string } & Proof,
  supersede: Query<{ id: string }>,
): Promise<CodeMessage> {
  const { target, ...owner } = to;
  const { encryption, mail } = services;
  const now = services.now();
  const superseded = (await tx.all(supersede)).map((row) => row.id);
  const message = { method: to.method, target, code: newDigits(digits), superseded };
  const id = newId();
  const expiresAt = new Date(now.getTime() + codeLifeSeconds * 1000).toISOString();
  await tx.all(
    insertCode({
      ...owner,
      id,
      codeHash: keyedHash(encryption.keyFor(purpose), `${id}:${message.code}`),
      at: now.toISOString(),
      expiresAt,
    }),
  );
  if (to.method === 'email') {
    const text = textOf(message.code);
    await tx.all(mail.compose({ id, to: target, subject: 'Your code', text, expiresAt }, now));
  }
  return message;
}

/**
 * Sends the stored code; call it after the commit, because it may call a provider. If the delivery fails, the code
 * stays valid.
 * @throws ProvidersRefused, MessageNotDelivered, OperationDisabled, QuotaExceeded
 */
export async function dispatchCode(
  services: Dependencies,
  { tenantId, route }: Delivery,
  { method, target: to, code, superseded }: CodeMessage,
): Promise<void> {
  await services.mail.cancel(superseded);
  if (method === 'email') services.mail.wake();
  else await sendMessage(services, { tenantId, channel: method, to, text: textOf(code), ...(route && { route }) });
}

function textOf(code: string): string {
  return `Your code is ${code}. It is valid for five minutes.\n\nIf you did not request it, change your password: another person may know it.\n`;
}

/** Consumes the code of the session if it is correct, and returns what it proves. */
export async function useDeliveredCode(
  { encryption }: Pick<Services, 'encryption'>,
  tx: Transaction,
  { codeId, code, at }: { codeId: string; code: string; at: string },
): Promise<Proof | undefined> {
  const codeHash = keyedHash(encryption.keyFor(purpose), `${codeId}:${withoutGaps(code)}`);
  const used = await tx.first(consumeCode({ id: codeId, codeHash, at }));
  return used && { accountWide: used.account_wide };
}
