import type { Channel } from '#modules/connectors/messaging/adapter';

/** A fake of a provider as its public documentation describes it, with an account at it. */
export type Account = {
  adapter: string;
  channels: readonly Channel[];
  config: Record<string, unknown>;
  credentials: Record<string, unknown>;
  /** Credentials that it refuses. */
  wrongCredentials: Record<string, unknown>;
};

/** How a provider fails: closes the connection, violates its protocol, does not answer, or reports an internal error. */
export type Fault = 'cut' | 'nonsense' | 'silence' | 'error';

export type Provider = {
  /** Without a path. */
  origin: string;
  /** The accepted messages, and the channel of each. */
  taken: { to: string; text: string; subject?: string }[];
  channels: Channel[];
  /** All requests so far. */
  requests: unknown[];
  /** Makes all later requests fail in this way. */
  fail(how: Fault): void;
};
