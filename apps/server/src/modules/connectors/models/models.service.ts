import { systemTenantId } from '#core/base/access/principal';
import { maxBytesOnLoop, readOnThread } from '#core/platform/outbound/reading';
import type { Services } from '#core/platform/services';
import { ProviderFailure, unusable } from '#modules/connectors/calls/failures';
import { callProviders, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import { listEnabledConnectors } from '#modules/connectors/connectors.queries';
import type { ModelList, ModelsAdapter, ModelTask } from '#modules/connectors/models/adapter';
import { adapterOf, serves, threadReading } from '#modules/connectors/models/adapters/adapters';
import { isUsable } from '#modules/connectors/settings';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/** A list of models with its origin: the api_key of the connector, and its entry in `listModelSources`. */
export type FetchedModels = ModelList & { provider: string; source: string };

type Wanted = Pick<ProviderCall<unknown>, 'tenantId' | 'caller' | 'signal' | 'timeouts'> & {
  task: ModelTask;
  /** Whether an empty list is refused as unusable. */
  expectsSome: boolean;
};

/**
 * Fetches models from the tenant's own connectors only, because models differ by provider.
 * @throws NoProvider (503) without a connector, ProvidersRefused (422) if all refuse, ProvidersFailed (502) if one
 *   failed
 */
export async function fetchModels(
  services: Dependencies,
  { task, expectsSome, ...call }: Wanted,
): Promise<FetchedModels> {
  const { result, provider } = await callProviders(services, {
    ...call,
    operation: 'models.list',
    isIdempotent: true,
    serves: (row) => row.tenant_id === call.tenantId && serves(row),
    async attempt(settings, fetch) {
      const adapter = adapterOf(settings)!;
      if (!isUsable(adapter, settings)) throw new ProviderFailure('credentials');
      const { url, headers } = adapter.request(settings, task);
      const answer = await fetch(url, { headers, maxBytes: maxListBytes });
      const list = await readModels(adapter, answer, { task, tenantId: call.tenantId });
      if (expectsSome && list.models.length === 0) throw unusable('the list of models is empty');
      return { result: list };
    },
  });
  if (result.dropped > 0) {
    const facts = { connectorId: provider.connectorId, tenantId: call.tenantId, task, dropped: result.dropped };
    services.log.warn(facts, 'entries of a model catalog were invalid');
  }
  return { ...result, provider: provider.key, source: sourceOf(provider.connectorId, provider.baseUrl) };
}

/** Id and address of the tenant's enabled model connectors. */
export async function listModelSources({ database }: Dependencies, tenantId: string): Promise<string[]> {
  const db = tenantId === systemTenantId ? database.platform() : database.tenant(tenantId);
  const rows = await db.all(listEnabledConnectors({ tenantId }));
  return rows.filter(serves).map((row) => sourceOf(row.id, row.api_base_url));
}

/** Large providers list several hundred models with long descriptions: 1 MiB and more. */
const maxListBytes = 4_194_304;

/** Parses long answers on a worker thread, because they would block the event loop. @throws ProviderFailure */
export async function readModels(
  adapter: ModelsAdapter,
  answer: Response,
  { task, tenantId }: { task: ModelTask; tenantId: string },
): Promise<ModelList> {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.byteLength <= maxBytesOnLoop) return adapter.read(new TextDecoder().decode(bytes), task);
  return readOnThread<ModelList>(threadReading(adapter, task), bytes, { tenantId }).catch((cause: unknown) => {
    throw new ProviderFailure('content', { cause });
  });
}

function sourceOf(connectorId: string, baseUrl: string): string {
  return `${connectorId} ${baseUrl}`;
}
