import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { renewSystemCatalog } from '#modules/models/catalog.service';
import { ModelNotFound } from '#modules/models/models.errors';
import * as schemas from '#modules/models/models.schemas';
import { estimateModelCost, listModels } from '#modules/models/models.service';

const refusals = [NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded];

const renewal: Job = {
  name: 'models-renewal',
  description: "Renews the installation's lists of models, which serve all tenants, before they are a day old.",
  schedule: '47 * * * *',
  catchUp: 'run_once',
  timeoutMs: 2 * 60_000,
  async run({ services, signal }) {
    const text = await renewSystemCatalog(services, 'text', signal);
    signal.throwIfAborted();
    return { text, image: await renewSystemCatalog(services, 'image', signal) };
  },
};

/** The models that providers offer, and what they cost. */
export const modelsModule = defineModule({
  name: 'models',
  description: 'The models that providers offer, and what they cost',
  jobs: [renewal],
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/admin/external-apis/modelhub/models',
      operationId: 'listModels',
      summary: 'Models that make text or images, by name; Age says how many seconds ago the provider was asked',
      access: access.permission('integrations.read'),
      schema: { query: schemas.ListModelsQuery, response: { 200: schemas.ModelList } },
      errors: refusals,
      handler: ({ query, ...request }) => listModels(request, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/admin/external-apis/modelhub/models/estimate',
      operationId: 'estimateModelCost',
      summary: 'What a request to a model would cost, from the length of its texts',
      access: access.permission('integrations.read'),
      schema: { body: schemas.EstimateBody, response: { 200: schemas.EstimateAnswer } },
      errors: [ModelNotFound, ...refusals],
      audit: { none: 'calculates only' },
      handler: ({ body, ...request }) => estimateModelCost(request, body),
    }),
  ],
});
