import type { Channel } from '#modules/connectors/messaging/adapter';

/** What every fake says of itself: a provider as its public documentation describes it, with an account at it. */
export type Account = {
  adapter: string;
  channels: readonly Channel[];
  config: Record<string, unknown>;
  credentials: Record<string, unknown>;
  /** An account that it does not know. */
  wrongCredentials: Record<string, unknown>;
};

/** How a provider goes wrong: it ends the connection, says what is not its protocol, says nothing, or has a fault. */
export type Fault = 'cut' | 'nonsense' | 'silence' | 'error';

export type Provider = {
  /** Without a path. */
  origin: string;
  /** The messages that it will deliver, and the channel of each. */
  taken: { to: string; text: string; subject?: string }[];
  channels: Channel[];
  /** Everything that it was asked. */
  requests: unknown[];
  /** From now on it does this instead of what its documentation says. */
  fail(how: Fault): void;
};
