import type { Actor } from '#core/base/access/principal';
import { parseSort, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import type { Model, ModelTask } from '#modules/connectors/index';
import { isFree, selectModels } from '#modules/models/catalog.rules';
import { readCatalog } from '#modules/models/catalog.service';
import { estimateCost } from '#modules/models/costs.rules';
import { ModelNotFound } from '#modules/models/models.errors';
import type { EstimateBody, ListModelsQuery } from '#modules/models/models.schemas';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

type Scope = { actor: Actor; services: Dependencies; untilAbandoned(): AbortSignal };

/** Less than the timeout of the route. */
const timeoutMs = 14_000;

/** Sends the age of the list in seconds in a header. @throws NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded */
export async function listModels({ setHeader, ...scope }: Scope & { setHeader: SetHeader }, query: ListModelsQuery) {
  const { task = 'text', search, min_context: minContext, free, sort, limit, offset = 0 } = query;
  const catalog = await catalogFor(scope, task);
  const now = scope.services.now();
  const ageMs = Math.max(0, now.getTime() - Date.parse(catalog.fetched_at));
  setHeader('age', String(Math.floor(ageMs / 1000)));
  const found = selectModels(catalog.models, { search, minContext, free }, parseSort(sort), now);
  const shown = found.slice(offset, limit === undefined ? undefined : offset + limit);
  return { data: { task, total: found.length, models: shown.map(presentModel) } };
}

/** @throws ModelNotFound, NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded */
export async function estimateModelCost(scope: Scope, body: EstimateBody) {
  const catalog = await catalogFor(scope, body.task ?? 'text');
  const model = selectModels(catalog.models, {}, undefined, scope.services.now()).find(
    ({ id }) => id === body.model_id,
  );
  if (model === undefined) throw ModelNotFound();
  const expectedCharacters = body.expected_output_characters;
  const { prompt, completion, total } = estimateCost(model, { characters: body.characters, expectedCharacters });
  const costs = { prompt_cost: prompt, completion_cost: completion, total_cost: total };
  return { data: { model_id: model.id, ...costs, currency: 'USD' } };
}

function catalogFor({ actor, services, untilAbandoned }: Scope, task: ModelTask) {
  const signal = AbortSignal.any([untilAbandoned(), AbortSignal.timeout(timeoutMs)]);
  const caller = { userId: actor.userId, requestId: actor.request.id };
  return readCatalog(services, { tenantId: actor.tenantId, task, caller, signal });
}

function presentModel(model: Model) {
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    prompt_price: model.promptPrice,
    completion_price: model.completionPrice,
    image_price: model.imagePrice,
    request_price: model.requestPrice,
    is_free: isFree(model),
  };
}
