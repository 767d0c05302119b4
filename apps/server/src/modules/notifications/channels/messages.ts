import { AppError, type ErrorDefinition } from '#core/base/errors/app-error';
import type { Services } from '#core/platform/services';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  OperationDisabled,
  ProvidersRefused,
  QuotaExceeded,
  sendMessage,
} from '#modules/connectors/index';
import type { Outcome, ChannelMessage } from '#modules/notifications/channels/channel';

/** Sends a message through the connectors of the tenant and the installation. */
export async function handToConnectors(
  services: Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>,
  { tenantId, deliveryId: id }: ChannelMessage,
  message: Omit<Parameters<typeof sendMessage>[1], 'tenantId' | 'id' | 'signal'>,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    await sendMessage(services, { ...message, tenantId, id, signal });
    return { kind: 'taken' };
  } catch (error) {
    signal.throwIfAborted();
    return toOutcome(error);
  }
}

/** The outcome of each error of a connector call. */
const kinds: readonly (readonly [ErrorDefinition, 'no_provider' | 'switched_off' | 'refused' | 'failed'])[] = [
  [NoDeliveryChannel, 'no_provider'],
  [OperationDisabled, 'switched_off'],
  [ProvidersRefused, 'refused'],
  [QuotaExceeded, 'failed'],
  [MessageNotDelivered, 'failed'],
];

function toOutcome(error: unknown): Outcome {
  if (!(error instanceof AppError)) throw error;
  const found = kinds.find(([{ code, reason }]) => error.code === code && error.details?.['code'] === reason);
  if (found === undefined) throw error;
  const [, kind] = found;
  const { retryAfterSeconds } = error;
  if (kind === 'no_provider' || kind === 'switched_off') return { kind };
  if (retryAfterSeconds === undefined) return kind === 'failed' ? { kind, error } : { kind };
  // With Retry-After, a connector that was paused may accept the message later.
  const retryAfterMs = retryAfterSeconds * 1000;
  return error.details?.['asked'] === false
    ? { kind: 'not_asked', retryAfterMs }
    : { kind: 'failed', error, retryAfterMs };
}
