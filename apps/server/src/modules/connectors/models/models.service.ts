import { systemTenantId } from '#core/access/principal';
import type { Services } from '#core/services';
import { ProviderFailure, unusable } from '#modules/connectors/calls/failures';
import { callProviders, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import { listEnabledConnectors } from '#modules/connectors/connectors.queries';
import type { ModelList, ModelTask } from '#modules/connectors/models/adapter';
import { adapterOf, serves } from '#modules/connectors/models/adapters/adapters';

/** A list of models and where it is from: the api_key of the connector, and what `listModelSources` calls it. */
export type FetchedModels = ModelList & { provider: string; source: string };

type Wanted = Pick<ProviderCall<unknown>, 'tenantId' | 'caller' | 'signal' | 'patience'> & {
  task: ModelTask;
  /** An empty list is no usable answer. */
  expectsSome: boolean;
};

/**
 * Asks the tenant's own connectors for their models; nobody else's, because those are other models.
 * @throws NoProvider (503) when there is none, ProvidersRefused (422) when all refuse, ProvidersFailed (502) when one
 *   has failed
 */
export async function fetchModels(services: Services, { task, expectsSome, ...call }: Wanted): Promise<FetchedModels> {
  const { result, provider } = await callProviders(services, {
    ...call,
    operation: 'models.list',
    isRepeatable: true,
    serves: (row) => row.tenant_id === call.tenantId && serves(row),
    async attempt(settings, fetch) {
      const adapter = adapterOf(settings)!;
      if (adapter.problem(settings) !== undefined) throw new ProviderFailure('credentials');
      const { url, headers } = adapter.request(settings, task);
      const answer = await fetch(url, { headers, maxBytes: longestListBytes });
      const list = adapter.read(await answer.text(), task);
      if (expectsSome && list.models.length === 0) throw unusable('the list of models is empty');
      return { result: list };
    },
  });
  if (result.dropped > 0) {
    const facts = { connectorId: provider.connectorId, tenantId: call.tenantId, task, dropped: result.dropped };
    services.log.warn(facts, 'entries of a list of models did not fit');
  }
  return { ...result, provider: provider.key, source: sourceOf(provider.connectorId, provider.baseUrl) };
}

/** The connectors of the tenant that list models, disabled ones aside; each by its id and address. */
export async function listModelSources({ database }: Services, tenantId: string): Promise<string[]> {
  const db = tenantId === systemTenantId ? database.platform() : database.tenant(tenantId);
  const rows = await db.all(listEnabledConnectors({ tenantId }));
  return rows.filter(serves).map((row) => sourceOf(row.id, row.api_base_url));
}

/** Large providers list several hundred models with long descriptions. */
const longestListBytes = 8_388_608;

function sourceOf(connectorId: string, baseUrl: string): string {
  return `${connectorId} ${baseUrl}`;
}
