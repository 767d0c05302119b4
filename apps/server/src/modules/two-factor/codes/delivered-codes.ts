import { newId } from '#core/crypto/ids';
import { keyedHash, newDigits } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { canSendMessage, NoDeliveryChannel, sendMessage } from '#modules/connectors/index';
import { NoMailServer } from '#modules/two-factor/two-factor.errors';
import { consumeCode, insertCode } from '#modules/two-factor/two-factor.queries';
import { codeLifeSeconds, withoutGaps } from '#modules/two-factor/two-factor.rules';
import type { DeliveredMethod } from '#modules/two-factor/two-factor.schemas';

/** A code that has been stored and is to go out. */
export type CodeMessage = { method: DeliveredMethod; target: string; code: string };

const digits = 6;
const purpose = 'two-factor-codes';

/** Refuses what nobody would deliver, instead of pretending. @throws NoMailServer, NoDeliveryChannel, OperationDisabled */
export async function assertDeliverable(services: Services, tenantId: string, method: DeliveredMethod): Promise<void> {
  if (method === 'email') {
    if (!services.mail.canDeliver) throw NoMailServer();
  } else if (!(await canSendMessage(services, { tenantId, channel: method }))) throw NoDeliveryChannel();
}

/** Stores a fresh code for one session, and with it the mail that brings it. */
export async function issueCode(
  services: Services,
  tx: Transaction,
  to: { accountId: string; sessionId: string; method: DeliveredMethod; target: string },
): Promise<CodeMessage> {
  const { target, ...whose } = to;
  const { encryption, mail } = services;
  const now = services.now();
  const message = { method: to.method, target, code: newDigits(digits) };
  const id = newId();
  await tx.all(
    insertCode({
      ...whose,
      id,
      codeHash: keyedHash(encryption.keyFor(purpose), `${id}:${message.code}`),
      at: now.toISOString(),
      expiresAt: new Date(now.getTime() + codeLifeSeconds * 1000).toISOString(),
    }),
  );
  if (to.method === 'email') {
    const query: Query<never> = mail.compose({ to: target, subject: 'Your code', text: textOf(message.code) }, now);
    await tx.all(query);
  }
  return message;
}

/**
 * Sends what was stored; call it after the commit, for it may talk to a provider. Where that goes wrong the code stays valid.
 * @throws ProvidersRefused, MessageNotDelivered, OperationDisabled, QuotaExceeded
 */
export async function dispatchCode(services: Services, tenantId: string, message: CodeMessage): Promise<void> {
  const { method, target: to, code } = message;
  if (method === 'email') services.mail.wake();
  else await sendMessage(services, { tenantId, channel: method, to, text: textOf(code) });
}

function textOf(code: string): string {
  return `Your code is ${code}. It is valid for five minutes.\n\nIf you did not ask for it, somebody knows your password: change it.\n`;
}

/** Uses up the code that the session was sent, if it is right. */
export async function useDeliveredCode(
  { encryption }: Pick<Services, 'encryption'>,
  tx: Transaction,
  { codeId, code, at }: { codeId: string; code: string; at: string },
): Promise<boolean> {
  const codeHash = keyedHash(encryption.keyFor(purpose), `${codeId}:${withoutGaps(code)}`);
  return (await tx.first(consumeCode({ id: codeId, codeHash, at }))) !== undefined;
}
