import { newId } from '#core/crypto/ids';
import { AppError } from '#core/errors/app-error';
import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import type { Provider, ProviderConnect, ProviderFetch } from '#modules/connectors/calls/provider-call';
import { callProviders, hasProvider, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  NoProvider,
  ProvidersFailed,
} from '#modules/connectors/connectors.errors';
import type { Channel, Message } from '#modules/connectors/messaging/adapter';
import { adapterOf, assertMessagingConfig, servesChannel } from '#modules/connectors/messaging/adapters/adapters';

/** All attempts together end before the request that asked for them does. */
const defaultPatience = { attemptMs: 4000, totalMs: 12_000 };

const operations = {
  sms: 'messaging.sms',
  chatapp: 'messaging.chatapp',
  email: 'messaging.email',
} as const satisfies Record<Channel, OperationKey>;

export type OutgoingMessage = Message & {
  tenantId: string;
  /** For the log of calls; nobody where no request asked for it. */
  caller?: { userId: string | null; requestId: string | null };
};

const nobody = { userId: null, requestId: null };

/**
 * Hands a message to the first provider that takes it: the tenant's own by priority, then the installation's. None of
 * them is handed it twice.
 * @throws NoDeliveryChannel (422) when no connector serves the channel, OperationDisabled (403), QuotaExceeded (429),
 *   MessageNotDelivered (502) when all have failed, with Retry-After where none could be asked
 */
export async function sendMessage(
  services: Services,
  { tenantId, caller = nobody, ...message }: OutgoingMessage,
  patience = defaultPatience,
): Promise<void> {
  const wanted = wantedOf({ tenantId, channel: message.channel });
  const attempt: ProviderCall<undefined>['attempt'] = async (provider, fetch, signal, connect) => {
    await hand(services, { provider, message, fetch, signal, connect });
    return { result: undefined };
  };
  try {
    await callProviders(services, { ...wanted, caller, patience, characters: message.text.length, attempt });
  } catch (error) {
    if (isOf(error, NoProvider)) throw NoDeliveryChannel({ cause: error });
    throw isOf(error, ProvidersFailed) ? notDelivered(error) : error;
  }
}

function notDelivered(cause: AppError): AppError {
  return MessageNotDelivered({ cause, retryAfterSeconds: cause.retryAfterSeconds });
}

/** Whether a message of the tenant on this channel would be tried at all. */
export function canSendMessage(services: Services, wanted: { tenantId: string; channel: Channel }): Promise<boolean> {
  return hasProvider(services, wantedOf(wanted));
}

function wantedOf({ tenantId, channel }: { tenantId: string; channel: Channel }) {
  return { tenantId, operation: operations[channel], serves: servesChannel(channel) };
}

type Handing = {
  provider: Provider;
  message: Message;
  fetch: ProviderFetch;
  signal: AbortSignal;
  connect: ProviderConnect;
};

/** @throws InvalidConnectorConfig for settings that make no sense any more, ProviderFailure */
async function hand(services: Services, { provider, message, fetch, signal, connect }: Handing): Promise<void> {
  assertMessagingConfig(provider);
  const adapter = adapterOf(provider)!;
  const envelope = { id: newId(), at: services.now() };
  if ('send' in adapter) {
    await adapter.send(provider, message, envelope, { outbound: { connect }, signal });
    return;
  }
  const { url, ...request } = adapter.request(provider, message, envelope);
  await fetch(url, { method: 'POST', ...request });
}

function isOf(error: unknown, { code, reason }: { code: string; reason: string | undefined }): error is AppError {
  return error instanceof AppError && error.code === code && error.details?.['code'] === reason;
}
