/** How a message reaches a person besides mail. */
export type Channel = 'sms' | 'chatapp';

export type Message = { channel: Channel; to: string; text: string };

type Fields = Readonly<Record<string, unknown>>;

/** A connector as its adapter sees it. */
export type Settings = { baseUrl: string; config: Fields; credentials: Fields | null };

export type MessageRequest = { url: string; headers: Record<string, string>; body: string };

/** Speaks one provider's protocol. Any 2xx answer means that the provider has taken the message. */
export type Adapter = {
  /** What it can serve. */
  readonly channels: readonly Channel[];
  /** What it serves unless `config.channels` says otherwise. */
  readonly defaultChannels: readonly Channel[];
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: Settings): string | undefined;
  /** @param envelope one id and time for each attempt, for providers that recognise repetitions. */
  request(settings: Settings, message: Message, envelope: { id: string; at: Date }): MessageRequest;
};

/** The first of these fields that is missing, no text, or does not match. */
export function firstProblem(
  place: 'config' | 'auth_config',
  fields: Fields | null,
  needed: Readonly<Record<string, RegExp>>,
): string | undefined {
  for (const [name, pattern] of Object.entries(needed)) {
    const value = fields?.[name];
    if (typeof value !== 'string') return `${place}.${name} has to be a text.`;
    if (!pattern.test(value)) return `${place}.${name} has not the form that the provider expects.`;
  }
  return undefined;
}

/** A path below a base URL, whose own query stays. */
export function below(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  const start = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname;
  url.pathname = `${start}${path}`;
  return url.href;
}

/** Text that may stand in a header: printable ASCII without a space at either end. */
export const headerText = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;
