import { systemTenantId } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import type { Services } from '#core/services';
import { MessageNotDelivered, NoDeliveryChannel } from '#modules/connectors/connectors.errors';
import { listMessagingConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials } from '#modules/connectors/credentials';
import type { Channel, Message } from '#modules/connectors/messaging/adapter';
import { adapterOf, assertMessagingConfig, channelsOf } from '#modules/connectors/messaging/adapters/adapters';

/** All attempts together end before the request that asked for them does. */
const defaultPatience = { attemptMs: 4000, totalMs: 12_000 };
const maxConnectors = 100;

export type OutgoingMessage = Message & { tenantId: string };

/**
 * Hands a message to the first provider that takes it: the tenant's own by priority, then the installation's.
 * @throws NoDeliveryChannel (422) when no connector serves the channel, MessageNotDelivered (502) when all have failed
 */
export async function sendMessage(
  services: Services,
  message: OutgoingMessage,
  { attemptMs, totalMs } = defaultPatience,
): Promise<void> {
  const connectors = await connectorsFor(services, message);
  if (connectors.length === 0) throw NoDeliveryChannel();
  const deadline = AbortSignal.timeout(totalMs);
  for (const connector of connectors) {
    if (deadline.aborted) break;
    const signal = AbortSignal.any([deadline, AbortSignal.timeout(attemptMs)]);
    const failure = await attempt(services, connector, message, signal);
    if (failure === undefined) return;
    const facts = { connectorId: connector.id, tenantId: message.tenantId, channel: message.channel };
    services.log.warn({ ...facts, ...failure }, 'a connector could not deliver a message');
  }
  throw MessageNotDelivered();
}

/** Whether a message of the tenant on this channel would be tried at all. */
export async function canSendMessage(
  services: Services,
  wanted: { tenantId: string; channel: Channel },
): Promise<boolean> {
  return (await connectorsFor(services, wanted)).length > 0;
}

async function connectorsFor(
  { database }: Services,
  { tenantId, channel }: { tenantId: string; channel: Channel },
): Promise<ConnectorRow[]> {
  const list = (id: string) => listMessagingConnectors({ tenantId: id, limit: maxConnectors });
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? [] : database.tenant(tenantId).all(list(tenantId)),
    database.platform().all(list(systemTenantId)),
  ]);
  return [...own, ...system].filter(({ config }) => channelsOf(config).includes(channel));
}

/** What went wrong, for the log: neither what was sent nor what the provider repeated of it. */
async function attempt(
  services: Services,
  connector: ConnectorRow,
  { channel, to, text }: Message,
  signal: AbortSignal,
): Promise<{ err: unknown } | { answered: number } | undefined> {
  try {
    const { api_base_url: baseUrl, config } = connector;
    const settings = { baseUrl, config, credentials: openCredentials(services, connector) };
    assertMessagingConfig(settings);
    const envelope = { id: newId(), at: services.now() };
    const { url, ...request } = adapterOf(config)!.request(settings, { channel, to, text }, envelope);
    const answer = await services.outbound.fetch(url, { method: 'POST', ...request, signal });
    return answer.ok ? undefined : { answered: answer.status };
  } catch (error) {
    return { err: error };
  }
}
