import type { Outbound, OutboundInit } from '#core/outbound/outbound';
import type { Route, Wanted } from '#modules/connectors/calls/routing.service';
import type { ProviderSettings } from '#modules/connectors/provider';

/** Who serves an attempt. */
export type Provider = ProviderSettings & {
  connectorId: string;
  /** The api_key of the connector, which is what answers call `provider_used`. */
  key: string;
};

/** A call within one attempt. @throws ProviderFailure unless the answer is 2xx */
export type ProviderFetch = (url: string, init?: OutboundInit) => Promise<Response>;

/** A connection for mail within one attempt. @throws OutboundError */
export type ProviderConnect = Outbound['connect'];

export type ProviderCall<Result> = Wanted & {
  /** For the log of calls. */
  caller: { userId: string | null; requestId: string | null };
  /** How much text is sent; counted against ceilings before the first attempt. */
  characters?: number;
  /** The reason that it is aborted with is thrown as it is. */
  signal?: AbortSignal;
  /** How long one attempt and all together may take. */
  patience?: { attemptMs: number; totalMs: number };
  /** Where it was read for several calls of the same moment. */
  route?: Promise<Route>;
  /** Whether the provider may be sent the same once more when it does not answer. */
  isRepeatable?: boolean;
  /**
   * One attempt.
   * @param signal aborted when the time of the attempt is over; `fetch` asks it by itself
   * @throws ProviderFailure where the next provider is to be tried
   */
  attempt(
    provider: Provider,
    fetch: ProviderFetch,
    signal: AbortSignal,
    connect: ProviderConnect,
  ): Promise<{ result: Result; tokens?: number | undefined }>;
};
