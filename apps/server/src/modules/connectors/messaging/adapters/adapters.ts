import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import { adapterIn, type Describing, type Named } from '#modules/connectors/kind';
import type { Adapter, Channel } from '#modules/connectors/messaging/adapter';
import { smtp } from '#modules/connectors/messaging/adapters/smtp/smtp';
import { twilio } from '#modules/connectors/messaging/adapters/twilio/twilio';
import { webhook } from '#modules/connectors/messaging/adapters/webhook/webhook';
import { whatsappCloud } from '#modules/connectors/messaging/adapters/whatsapp-cloud/whatsapp-cloud';
import { webProblem, type ProviderSettings } from '#modules/connectors/provider';
import { missingSettings, settingsProblem } from '#modules/connectors/settings';

/** Adapters by `config.adapter` or api_key. */
export const adapters: Readonly<Record<string, Adapter>> = { webhook, smtp, twilio, 'whatsapp-cloud': whatsappCloud };

/** The category that a connector for messages has. */
export const categories: readonly string[] = ['communication'];

/** Of connectors that name none. */
export const byDefault = 'webhook';

/** The message adapter of a connector; undefined for an unknown name. */
export function adapterOf(named: Named): Adapter | undefined {
  return adapterIn({ adapters, byDefault }, named);
}

/** The channels that a connector serves; none when its settings make no sense. */
export function channelsOf(named: Named): readonly Channel[] {
  const adapter = adapterOf(named);
  const { channels = adapter?.defaultChannels } = named.config;
  if (adapter === undefined || !Array.isArray(channels)) return [];
  return adapter.channels.filter((channel) => channels.includes(channel));
}

/** Which connectors are for messages on a channel. */
export function servesChannel(channel: Channel): (row: Describing) => boolean {
  return ({ api_key: key, category, config }) =>
    categories.includes(category) && channelsOf({ config, key }).includes(channel);
}

/** @throws InvalidConnectorConfig when messages cannot be sent with these settings */
export function assertMessagingConfig(settings: ProviderSettings & Named): void {
  const problem = messagingProblem(settings);
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
  const [missing] = missingSettings(adapterOf(settings)!, settings);
  if (missing !== undefined) throw InvalidConnectorConfig({ details: { problem: `${missing} is missing.` } });
}

/** What is wrong with the settings that are there. */
export function messagingProblem(settings: ProviderSettings & Named): string | undefined {
  const { baseUrl, config } = settings;
  const adapter = adapterOf(settings);
  if (adapter === undefined) return `config.adapter has to be one of ${Object.keys(adapters).join(', ')}.`;
  const { channels = adapter.defaultChannels } = config;
  const known: readonly unknown[] = adapter.channels;
  const isListed = Array.isArray(channels) && channels.length > 0 && channels.every((name) => known.includes(name));
  if (!isListed) return `config.channels has to list some of ${adapter.channels.join(', ')}.`;
  return ('request' in adapter ? webProblem(baseUrl) : undefined) ?? settingsProblem(adapter, settings);
}
