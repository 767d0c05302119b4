import { newId } from '#core/crypto/ids';
import { AppError } from '#core/errors/app-error';
import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import type { Provider, ProviderFetch } from '#modules/connectors/calls/provider-call';
import { callProviders, hasProvider } from '#modules/connectors/calls/provider-calls.service';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  NoProvider,
  ProvidersFailed,
} from '#modules/connectors/connectors.errors';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import type { Channel, Message } from '#modules/connectors/messaging/adapter';
import { adapterOf, assertMessagingConfig, channelsOf } from '#modules/connectors/messaging/adapters/adapters';

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
 * @throws NoDeliveryChannel (422) when no connector serves the channel, MessageNotDelivered (502) when all have failed
 */
export async function sendMessage(
  services: Services,
  { tenantId, caller = nobody, ...message }: OutgoingMessage,
  patience = defaultPatience,
): Promise<void> {
  const wanted = wantedOf({ tenantId, channel: message.channel });
  const attempt = async (provider: Provider, fetch: ProviderFetch, signal: AbortSignal) => {
    await hand(services, { provider, message, fetch, signal });
    return { result: undefined };
  };
  try {
    await callProviders(services, { ...wanted, caller, patience, characters: message.text.length, attempt });
  } catch (error) {
    if (isOf(error, NoProvider)) throw NoDeliveryChannel({ cause: error });
    throw isOf(error, ProvidersFailed) ? MessageNotDelivered({ cause: error }) : error;
  }
}

/** Whether a message of the tenant on this channel would be tried at all. */
export function canSendMessage(services: Services, wanted: { tenantId: string; channel: Channel }): Promise<boolean> {
  return hasProvider(services, wantedOf(wanted));
}

function wantedOf({ tenantId, channel }: { tenantId: string; channel: Channel }) {
  const serves = ({ category, config, api_key: key }: ConnectorRow) =>
    category === 'communication' && channelsOf({ config, key }).includes(channel);
  return { tenantId, operation: operations[channel], serves };
}

type Handing = { provider: Provider; message: Message; fetch: ProviderFetch; signal: AbortSignal };

/** @throws InvalidConnectorConfig for settings that make no sense any more, ProviderFailure */
async function hand(services: Services, { provider, message, fetch, signal }: Handing): Promise<void> {
  assertMessagingConfig(provider);
  const adapter = adapterOf(provider)!;
  const envelope = { id: newId(), at: services.now() };
  if ('send' in adapter) {
    await adapter.send(provider, message, envelope, { outbound: services.outbound, signal });
    return;
  }
  const { url, ...request } = adapter.request(provider, message, envelope);
  await fetch(url, { method: 'POST', ...request });
}

function isOf(error: unknown, { code, reason }: { code: string; reason: string | undefined }): boolean {
  return error instanceof AppError && error.code === code && error.details?.['code'] === reason;
}
