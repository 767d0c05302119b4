import type { Outbound, OutboundInit } from '#core/platform/outbound/outbound';
import type { Route, Wanted } from '#modules/connectors/calls/routing.service';
import type { ProviderSettings } from '#modules/connectors/provider';

/** The provider of an attempt. */
export type Provider = ProviderSettings & {
  connectorId: string;
  /** The api_key of the connector; `provider_used` in answers. */
  key: string;
};

/** A call within one attempt. @throws ProviderFailure unless the answer is 2xx */
export type ProviderFetch = (url: string, init?: OutboundInit) => Promise<Response>;

/** A connection for mail within one attempt. @throws OutboundError */
export type ProviderConnect = Outbound['connect'];

export type ProviderCall<Result> = Wanted & {
  /** For the call log. */
  caller: { userId: string | null; requestId: string | null };
  /** Number of characters to send; counted against quotas before the first attempt. */
  characters?: number;
  /** Its abort reason is rethrown unchanged. */
  signal?: AbortSignal;
  /** Timeouts of one attempt and of all attempts together. */
  timeouts?: { attemptMs: number; totalMs: number };
  /** The route, if it was read once for several concurrent calls. */
  route?: Promise<Route>;
  /** Whether the request may be retried at the provider after no answer. */
  isIdempotent?: boolean;
  /**
   * One attempt.
   * @param signal aborted at the timeout of the attempt; `fetch` observes it
   * @throws ProviderFailure to try the next provider
   */
  attempt(
    provider: Provider,
    fetch: ProviderFetch,
    signal: AbortSignal,
    connect: ProviderConnect,
  ): Promise<{ result: Result; tokens?: number | undefined }>;
};
