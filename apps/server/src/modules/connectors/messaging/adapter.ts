import type { Outbound } from '#core/platform/outbound/outbound';
import type { ProviderSettings } from '#modules/connectors/provider';
import type { Needs } from '#modules/connectors/settings';

/** How a message reaches a person, or a program on their behalf. */
export type Channel = 'sms' | 'chatapp' | 'email' | 'webhook';

export type Message = {
  channel: Channel;
  /** Empty on channel `webhook`. */
  to: string;
  /** Of mails only. */
  subject?: string | undefined;
  /** Empty on channel `webhook`. */
  text: string;
  /** On channel `webhook` only, where a program gets it in place of address and text. */
  notification?: Readonly<Record<string, unknown>> | undefined;
};

export type MessageRequest = {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Repeatable like an outbound call: the recipient detects duplicates by the id. */
  hasIdempotencyKey?: boolean;
};

/** For duplicate detection: the id of the message, otherwise of the attempt, and its time. */
export type Envelope = { id: string; at: Date };

type Description = {
  /** What it can serve. */
  readonly channels: readonly Channel[];
  /** What it serves unless `config.channels` says otherwise. */
  readonly defaultChannels: readonly Channel[];
  readonly needs?: Needs;
  /** A problem with optional settings, as a sentence without values. */
  problem(settings: ProviderSettings): string | undefined;
};

/** Speaks HTTP in one provider's way. Any 2xx answer means that the provider has taken the message. */
export type RequestAdapter = Description & {
  request(settings: ProviderSettings, message: Message, envelope: Envelope): MessageRequest;
};

/** Speaks another protocol than HTTP. */
export type SendingAdapter = Description & {
  /** @throws ProviderFailure unless the provider has taken the message */
  send(settings: ProviderSettings, message: Message, envelope: Envelope, transport: Transport): Promise<void>;
};

export type Transport = { outbound: Pick<Outbound, 'connect'>; signal: AbortSignal };

export type Adapter = RequestAdapter | SendingAdapter;
