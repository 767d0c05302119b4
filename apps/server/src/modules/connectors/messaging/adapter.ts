import type { ProviderSettings } from '#modules/connectors/provider';

/** How a message reaches a person besides mail. */
export type Channel = 'sms' | 'chatapp';

export type Message = { channel: Channel; to: string; text: string };

export type MessageRequest = { url: string; headers: Record<string, string>; body: string };

/** Speaks one provider's protocol. Any 2xx answer means that the provider has taken the message. */
export type Adapter = {
  /** What it can serve. */
  readonly channels: readonly Channel[];
  /** What it serves unless `config.channels` says otherwise. */
  readonly defaultChannels: readonly Channel[];
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
  /** @param envelope one id and time for each attempt, for providers that recognise repetitions. */
  request(settings: ProviderSettings, message: Message, envelope: { id: string; at: Date }): MessageRequest;
};
