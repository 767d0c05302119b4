import type { Outbound } from '#core/outbound/outbound';
import type { ProviderSettings } from '#modules/connectors/provider';

/** How a message reaches a person. */
export type Channel = 'sms' | 'chatapp' | 'email';

export type Message = {
  channel: Channel;
  to: string;
  /** Of mails only. */
  subject?: string | undefined;
  text: string;
};

export type MessageRequest = { url: string; headers: Record<string, string>; body: string };

/** One id and time for each attempt, for providers that recognise repetitions. */
export type Envelope = { id: string; at: Date };

type Description = {
  /** What it can serve. */
  readonly channels: readonly Channel[];
  /** What it serves unless `config.channels` says otherwise. */
  readonly defaultChannels: readonly Channel[];
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
};

/** Speaks HTTP in one provider's way. Any 2xx answer means that the provider has taken the message. */
export type RequestAdapter = Description & {
  request(settings: ProviderSettings, message: Message, envelope: Envelope): MessageRequest;
};

/** Speaks another protocol than HTTP. */
export type SendingAdapter = Description & {
  /** @throws ProviderFailure unless the provider has taken the message */
  send(settings: ProviderSettings, message: Message, envelope: Envelope, way: Way): Promise<void>;
};

export type Way = { outbound: Pick<Outbound, 'connect'>; signal: AbortSignal };

export type Adapter = RequestAdapter | SendingAdapter;
