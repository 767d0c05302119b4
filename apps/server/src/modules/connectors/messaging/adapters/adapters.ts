import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import type { Adapter, Channel } from '#modules/connectors/messaging/adapter';
import { twilio } from '#modules/connectors/messaging/adapters/twilio/twilio';
import { webhook } from '#modules/connectors/messaging/adapters/webhook/webhook';
import { whatsappCloud } from '#modules/connectors/messaging/adapters/whatsapp-cloud/whatsapp-cloud';
import type { ProviderSettings } from '#modules/connectors/provider';

/** By the name that `config.adapter` gives. */
export const adapters: Readonly<Record<string, Adapter>> = { webhook, twilio, 'whatsapp-cloud': whatsappCloud };

/** The adapter of a connector; undefined when there is none of that name. */
export function adapterOf({ adapter = 'webhook' }: ProviderSettings['config']): Adapter | undefined {
  return typeof adapter === 'string' && Object.hasOwn(adapters, adapter) ? adapters[adapter] : undefined;
}

/** The channels that a connector serves; none when its settings make no sense. */
export function channelsOf(config: ProviderSettings['config']): readonly Channel[] {
  const adapter = adapterOf(config);
  const { channels = adapter?.defaultChannels } = config;
  if (adapter === undefined || !Array.isArray(channels)) return [];
  return adapter.channels.filter((channel) => channels.includes(channel));
}

/** @throws InvalidConnectorConfig when messages could never be sent with these settings */
export function assertMessagingConfig(settings: ProviderSettings): void {
  const problem = problemOf(settings);
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
}

function problemOf(settings: ProviderSettings): string | undefined {
  const { config } = settings;
  const adapter = adapterOf(config);
  if (adapter === undefined) return `config.adapter has to be one of ${Object.keys(adapters).join(', ')}.`;
  const { channels = adapter.defaultChannels } = config;
  const known: readonly unknown[] = adapter.channels;
  const isListed = Array.isArray(channels) && channels.length > 0 && channels.every((name) => known.includes(name));
  if (!isListed) return `config.channels has to list some of ${adapter.channels.join(', ')}.`;
  return adapter.problem(settings);
}
