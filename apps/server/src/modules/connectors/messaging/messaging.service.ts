import { newId } from '#core/base/crypto/ids';
import { AppError } from '#core/base/errors/app-error';
import type { Services } from '#core/platform/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import type { Provider, ProviderConnect, ProviderFetch } from '#modules/connectors/calls/provider-call';
import { callProviders, findServingRoute, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import type { Route } from '#modules/connectors/calls/routing.service';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  NoProvider,
  ProvidersFailed,
} from '#modules/connectors/connectors.errors';
import type { Channel, Message } from '#modules/connectors/messaging/adapter';
import { adapterOf, assertMessagingConfig, servesChannel } from '#modules/connectors/messaging/adapters/adapters';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/**
 * For who waits in a request: all attempts together end before it does. The first has most of the time, because one that is
 * given up may have taken the message; who refuses it or cannot be reached says so soon, and leaves time for the next.
 */
const defaultTimeouts = { attemptMs: 10_000, totalMs: 13_000 };

const operations = {
  sms: 'messaging.sms',
  chatapp: 'messaging.chatapp',
  email: 'messaging.email',
  webhook: 'messaging.webhook',
} as const satisfies Record<Channel, OperationKey>;

export type OutgoingMessage = Message & {
  tenantId: string;
  /** The same for each attempt at a message, so that providers can detect duplicates. */
  id?: string;
  /** The route, if `findMessageRoute` has already read it. */
  route?: MessageRoute;
  /** For the call log; empty if no request caused it. */
  caller?: { userId: string | null; requestId: string | null };
  /** The reason that it is aborted with is thrown as it is. */
  signal?: AbortSignal;
};

/** The connectors that a message would be handed to, in their order. */
export type MessageRoute = {
  route: Route;
  onlyInstallation: boolean;
  /** The tenant configured one of them, and so may read the message. */
  isOfTenant: boolean;
};

const noCaller = { userId: null, requestId: null };

/**
 * Hands a message to the first provider that takes it: the tenant's own by priority, then the installation's. None of
 * them is handed it twice, but for a program that gets a notification and whose connection was cut.
 * @throws NoDeliveryChannel (422) when no connector serves the channel, OperationDisabled (403), QuotaExceeded (429),
 *   ProvidersRefused (422) when none takes the number, address or text, MessageNotDelivered (502) when one has failed, with
 *   Retry-After where none could be asked
 */
export async function sendMessage(
  services: Dependencies,
  { tenantId, id, route: known, caller = noCaller, signal: outer, ...message }: OutgoingMessage,
  timeouts = defaultTimeouts,
): Promise<void> {
  const wanted = {
    ...wantedOf({ tenantId, channel: message.channel }),
    ...(known && { onlyInstallation: known.onlyInstallation }),
  };
  const route = known === undefined ? {} : { route: Promise.resolve(known.route) };
  const within = { ...route, timeouts, ...(outer === undefined ? {} : { signal: outer }) };
  const attempt: ProviderCall<undefined>['attempt'] = async (provider, fetch, signal, connect) => {
    await hand(services, { provider, message, id, fetch, signal, connect });
    return { result: undefined };
  };
  try {
    await callProviders(services, { ...wanted, ...within, caller, characters: charactersOf(message), attempt });
  } catch (error) {
    if (isOf(error, NoProvider)) throw NoDeliveryChannel({ cause: error });
    throw isOf(error, ProvidersFailed) ? notDelivered(error) : error;
  }
}

function charactersOf({ text, notification }: Message): number {
  return notification === undefined ? text.length : JSON.stringify(notification).length;
}

function notDelivered(cause: AppError): AppError {
  const { asked } = cause.details ?? {};
  const details = asked === undefined ? {} : { details: { asked } };
  return MessageNotDelivered({ cause, retryAfterSeconds: cause.retryAfterSeconds, ...details });
}

/**
 * Who would be handed a message of the tenant on this channel; undefined where no connector serves it.
 * @throws OperationDisabled (403)
 */
export async function findMessageRoute(
  services: Dependencies,
  { onlyInstallation = false, ...wanted }: { tenantId: string; channel: Channel; onlyInstallation?: boolean },
): Promise<MessageRoute | undefined> {
  const route = await findServingRoute(services, { ...wantedOf(wanted), onlyInstallation });
  return route && { route, onlyInstallation, isOfTenant: route.candidates.some(({ isOfTenant }) => isOfTenant) };
}

function wantedOf({ tenantId, channel }: { tenantId: string; channel: Channel }) {
  return { tenantId, operation: operations[channel], serves: servesChannel(channel) };
}

type Handing = {
  provider: Provider;
  message: Message;
  id: string | undefined;
  fetch: ProviderFetch;
  signal: AbortSignal;
  connect: ProviderConnect;
};

/** Nothing of it is read but its status. */
const maxAnswerBytes = 65_536;

/** @throws InvalidConnectorConfig for settings that make no sense any more, ProviderFailure */
async function hand(
  services: Dependencies,
  { provider, message, id = newId(), fetch, signal, connect }: Handing,
): Promise<void> {
  assertMessagingConfig(provider);
  const adapter = adapterOf(provider)!;
  const envelope = { id, at: services.now() };
  if ('send' in adapter) {
    await adapter.send(provider, message, envelope, { outbound: { connect }, signal });
    return;
  }
  const { url, ...request } = adapter.request(provider, message, envelope);
  await fetch(url, { method: 'POST', ...request, maxBytes: maxAnswerBytes });
}

function isOf(error: unknown, { code, reason }: { code: string; reason: string | undefined }): error is AppError {
  return error instanceof AppError && error.code === code && error.details?.['code'] === reason;
}
