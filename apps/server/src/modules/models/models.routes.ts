import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { ModelNotFound } from '#modules/models/models.errors';
import * as schemas from '#modules/models/models.schemas';
import { estimateModelCost, listModels } from '#modules/models/models.service';

const refusals = [NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded];

export const modelRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/admin/external-apis/modelhub/models',
    operationId: 'listModels',
    summary: 'List models for text or images, by name; the Age header is the age of the catalog in seconds',
    access: access.permission('integrations.read'),
    schema: { query: schemas.ListModelsQuery, response: { 200: schemas.ModelList } },
    errors: refusals,
    handler: ({ query, ...request }) => listModels(request, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/admin/external-apis/modelhub/models/estimate',
    operationId: 'estimateModelCost',
    summary: 'Estimate the cost of a model request from the length of its texts',
    access: access.permission('integrations.read'),
    schema: { body: schemas.EstimateBody, response: { 200: schemas.EstimateAnswer } },
    errors: [ModelNotFound, ...refusals],
    audit: { none: 'calculates only' },
    handler: ({ body, ...request }) => estimateModelCost(request, body),
  }),
];
