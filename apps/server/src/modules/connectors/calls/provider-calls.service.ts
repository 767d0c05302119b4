import { systemTenantId } from '#core/access/principal';
import type { OutboundInit } from '#core/outbound/outbound';
import type { Services } from '#core/services';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { NoProvider, ProvidersFailed } from '#modules/connectors/connectors.errors';
import { listUsableConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials } from '#modules/connectors/credentials';
import type { ProviderSettings } from '#modules/connectors/provider';

/** Who serves an attempt. */
export type Provider = ProviderSettings & {
  connectorId: string;
  /** The api_key of the connector, which is what answers call `provider_used`. */
  key: string;
};

/** A call within one attempt. @throws ProviderFailure unless the answer is 2xx */
export type ProviderFetch = (url: string, init?: OutboundInit) => Promise<Response>;

export type ProviderCall<Result> = {
  tenantId: string;
  operation: OperationKey;
  /** For the log of calls. */
  caller: { userId: string | null; requestId: string | null };
  /** How much text is sent; counted against ceilings before the first attempt. */
  characters?: number;
  signal?: AbortSignal;
  /** How long one attempt and all together may take. */
  patience?: { attemptMs: number; totalMs: number };
  /** Whether a connector is of the right kind; its category, adapter and settings are looked at, not its health. */
  serves(connector: ConnectorRow): boolean;
  /** One attempt. @throws ProviderFailure where the next provider is to be tried */
  attempt(provider: Provider, fetch: ProviderFetch): Promise<{ result: Result; tokens?: number }>;
};

const defaultPatience = { attemptMs: 10_000, totalMs: 14_000 };

/**
 * Has the first provider that can do it carry out an operation: the tenant's own by priority, then the installation's.
 * @throws NoProvider (503) when nobody serves the operation, ProvidersFailed (502) when all have failed
 */
export async function callProviders<Result>(
  services: Services,
  call: ProviderCall<Result>,
): Promise<{ result: Result; provider: Provider }> {
  const connectors = (await candidates(services, call.tenantId)).filter((row) => call.serves(row));
  if (connectors.length === 0) throw NoProvider();
  const { attemptMs, totalMs } = call.patience ?? defaultPatience;
  const deadline = AbortSignal.any([AbortSignal.timeout(totalMs), ...(call.signal === undefined ? [] : [call.signal])]);
  for (const connector of connectors) {
    if (deadline.aborted) break;
    const signal = AbortSignal.any([deadline, AbortSignal.timeout(attemptMs)]);
    try {
      const { api_base_url: baseUrl, config, id, api_key: key } = connector;
      const provider = { connectorId: id, key, baseUrl, config, credentials: openCredentials(services, connector) };
      const { result } = await call.attempt(provider, (url, init) => fetchOk(services, url, { ...init, signal }));
      return { result, provider };
    } catch (error) {
      services.log.warn({ err: error, connectorId: connector.id, tenantId: call.tenantId }, 'a provider failed');
    }
  }
  throw ProvidersFailed();
}

async function candidates({ database }: Services, tenantId: string): Promise<ConnectorRow[]> {
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? [] : database.tenant(tenantId).all(listUsableConnectors({ tenantId })),
    database.platform().all(listUsableConnectors({ tenantId: systemTenantId })),
  ]);
  return [...own, ...system];
}

async function fetchOk({ outbound }: Services, url: string, init: OutboundInit): Promise<Response> {
  const answer = await outbound.fetch(url, init).catch((cause: unknown) => {
    throw new ProviderFailure('unreachable', { cause });
  });
  if (answer.ok) return answer;
  throw new ProviderFailure('answer', { httpStatus: answer.status });
}
