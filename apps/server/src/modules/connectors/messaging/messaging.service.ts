import { newId } from '#core/crypto/ids';
import { AppError } from '#core/errors/app-error';
import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import type { Provider, ProviderConnect, ProviderFetch } from '#modules/connectors/calls/provider-call';
import { callProviders, hasProvider, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import { findRoute, type Route, type Wanted } from '#modules/connectors/calls/routing.service';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  NoProvider,
  ProvidersFailed,
} from '#modules/connectors/connectors.errors';
import type { Channel, Message } from '#modules/connectors/messaging/adapter';
import { adapterOf, assertMessagingConfig, servesChannel } from '#modules/connectors/messaging/adapters/adapters';

/**
 * For who waits in a request: all attempts together end before it does. The first has most of the time, because one that is
 * given up may have taken the message; who refuses it or cannot be reached says so soon, and leaves time for the next.
 */
const defaultPatience = { attemptMs: 10_000, totalMs: 13_000 };

const operations = {
  sms: 'messaging.sms',
  chatapp: 'messaging.chatapp',
  email: 'messaging.email',
  webhook: 'messaging.webhook',
} as const satisfies Record<Channel, OperationKey>;

export type OutgoingMessage = Message & {
  tenantId: string;
  /** The same for each attempt at the same message, for providers that recognise repetitions. */
  id?: string;
  /**
   * The same object for messages of a tenant over one channel that are sent within a moment: who takes them is read once for all,
   * and anew after one that came to nothing.
   */
  moment?: object;
  /** For the log of calls; nobody where no request asked for it. */
  caller?: { userId: string | null; requestId: string | null };
  /** The reason that it is aborted with is thrown as it is. */
  signal?: AbortSignal;
};

const nobody = { userId: null, requestId: null };

type Read = Pick<Wanted, 'tenantId' | 'operation'> & { route: Promise<Route> };

const reads = new WeakMap<object, Read>();

/**
 * Hands a message to the first provider that takes it: the tenant's own by priority, then the installation's. None of
 * them is handed it twice, but for a program that gets a notification and whose connection was cut.
 * @throws NoDeliveryChannel (422) when no connector serves the channel, OperationDisabled (403), QuotaExceeded (429),
 *   ProvidersRefused (422) when none takes the number, address or text, MessageNotDelivered (502) when one has failed, with
 *   Retry-After where none could be asked
 */
export async function sendMessage(
  services: Services,
  { tenantId, id, moment, caller = nobody, signal: outer, ...message }: OutgoingMessage,
  patience = defaultPatience,
): Promise<void> {
  const wanted = wantedOf({ tenantId, channel: message.channel });
  const route = moment === undefined ? {} : { route: routeOf(services, wanted, moment) };
  const within = { ...route, patience, ...(outer === undefined ? {} : { signal: outer }) };
  const attempt: ProviderCall<undefined>['attempt'] = async (provider, fetch, signal, connect) => {
    await hand(services, { provider, message, id, fetch, signal, connect });
    return { result: undefined };
  };
  try {
    await callProviders(services, { ...wanted, ...within, caller, characters: charactersOf(message), attempt });
  } catch (error) {
    if (moment !== undefined) reads.delete(moment);
    if (isOf(error, NoProvider)) throw NoDeliveryChannel({ cause: error });
    throw isOf(error, ProvidersFailed) ? notDelivered(error) : error;
  }
}

function routeOf(services: Services, wanted: Wanted, moment: object): Promise<Route> {
  const { tenantId, operation } = wanted;
  const known = reads.get(moment);
  // Whatever a caller takes for the same moment, one tenant's providers never serve another.
  if (known?.tenantId === tenantId && known.operation === operation) return known.route;
  const route = findRoute(services, wanted);
  reads.set(moment, { tenantId, operation, route });
  return route;
}

function charactersOf({ text, notification }: Message): number {
  return notification === undefined ? text.length : JSON.stringify(notification).length;
}

function notDelivered(cause: AppError): AppError {
  const { asked } = cause.details ?? {};
  const details = asked === undefined ? {} : { details: { asked } };
  return MessageNotDelivered({ cause, retryAfterSeconds: cause.retryAfterSeconds, ...details });
}

/** Whether a message of the tenant on this channel would be tried at all. @throws OperationDisabled (403) */
export function canSendMessage(services: Services, wanted: { tenantId: string; channel: Channel }): Promise<boolean> {
  return hasProvider(services, wantedOf(wanted));
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

/** @throws InvalidConnectorConfig for settings that make no sense any more, ProviderFailure */
async function hand(
  services: Services,
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
  await fetch(url, { method: 'POST', ...request });
}

function isOf(error: unknown, { code, reason }: { code: string; reason: string | undefined }): error is AppError {
  return error instanceof AppError && error.code === code && error.details?.['code'] === reason;
}
