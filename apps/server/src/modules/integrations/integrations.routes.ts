import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { CredentialsRequired, InvalidConnectorConfig } from '#modules/connectors/index';
import {
  QuotaLimitInvalid,
  OperationNotFound,
  PeriodTooLong,
  PeriodInvalid,
  InstallationOverride,
  TenantOverrideNotFound,
} from '#modules/integrations/integrations.errors';
import {
  OperationAnswer,
  OperationParams,
  OperationsAnswer,
} from '#modules/integrations/operations/operations.schemas';
import { getOperation, listOperations } from '#modules/integrations/operations/operations.service';
import {
  ListTenantOverridesQuery,
  SaveTenantOverrideBody,
  TenantOverrideAnswer,
  TenantOverridePage,
} from '#modules/integrations/overrides/overrides.schemas';
import {
  deleteTenantOverride,
  listTenantOverrides,
  saveTenantOverride,
} from '#modules/integrations/overrides/overrides.service';
import { ExplainRouteBody, ExplainedRoute } from '#modules/integrations/routing/routing.schemas';
import { explain } from '#modules/integrations/routing/routing.service';
import * as traffic from '#modules/integrations/traffic/traffic.schemas';
import { getDiagnostics, getOverview, searchCalls, searchMetrics } from '#modules/integrations/traffic/traffic.service';
import { TenantNotFound } from '#modules/tenants/index';

const path = '/api/v1/secure/admin/external-apis/control-plane';

export const integrationRoutes = [
  defineRoute({
    method: 'GET',
    path: `${path}/operations`,
    operationId: 'listOperations',
    summary: 'List provider operations with their calls in the last 24 hours',
    access: access.permission('integrations.read'),
    schema: { query: traffic.ReachQuery, response: { 200: OperationsAnswer } },
    handler: ({ actor, db, query, services }) => listOperations({ db, actor, services }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/operations/{operationKey}`,
    operationId: 'getOperation',
    summary: 'Get a provider operation with its quotas, hourly metrics and latest calls',
    access: access.permission('integrations.read'),
    schema: { params: OperationParams, query: traffic.ReachQuery, response: { 200: OperationAnswer } },
    errors: [OperationNotFound],
    handler: ({ actor, db, params, query, services }) =>
      getOperation({ db, actor, services }, params.operationKey, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/overview`,
    operationId: 'getIntegrationOverview',
    summary: 'Get an overview of provider calls in the last 24 hours and of connector health',
    access: access.permission('integrations.read'),
    schema: { query: traffic.ReachQuery, response: { 200: traffic.OverviewAnswer } },
    handler: ({ actor, db, query, services }) => getOverview({ db, actor, services }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/metrics`,
    operationId: 'listProviderMetrics',
    summary: 'List hourly metrics of provider calls, latest first',
    access: access.permission('integrations.read'),
    schema: { query: traffic.ListMetricsQuery, response: { 200: traffic.MetricPage } },
    errors: [PeriodInvalid, PeriodTooLong],
    handler: ({ actor, db, query, services, setHeader }) => searchMetrics({ db, actor, services, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/logs`,
    operationId: 'listProviderCalls',
    summary: 'List provider calls of the last 30 days, latest first',
    access: access.permission('integrations.read'),
    schema: { query: traffic.ListCallsQuery, response: { 200: traffic.CallPage } },
    errors: [PeriodInvalid, PeriodTooLong],
    handler: ({ actor, db, query, services, setHeader }) => searchCalls({ db, actor, services, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/diagnostics`,
    operationId: 'getIntegrationDiagnostics',
    summary: 'Get recent failures, state alerts and health checks of connectors',
    access: access.permission('integrations.read'),
    schema: { query: traffic.ReachQuery, response: { 200: traffic.DiagnosticsAnswer } },
    handler: ({ actor, db, query, services }) => getDiagnostics({ db, actor, services }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/tenant-overrides`,
    operationId: 'listTenantOverrides',
    summary: 'List tenant overrides by operation',
    access: access.permission('integrations.read'),
    schema: { query: ListTenantOverridesQuery, response: { 200: TenantOverridePage } },
    handler: ({ actor, db, query, services, setHeader }) =>
      listTenantOverrides({ db, actor, services, setHeader }, query),
  }),
  defineRoute({
    method: 'PUT',
    path: `${path}/tenant-overrides`,
    operationId: 'saveTenantOverride',
    summary: 'Create or update a tenant override of an operation; omitted properties keep their values',
    access: access.permission('integrations.manage'),
    schema: { body: SaveTenantOverrideBody, response: { 200: TenantOverrideAnswer } },
    errors: [
      TenantNotFound,
      InstallationOverride,
      OperationNotFound,
      QuotaLimitInvalid,
      CredentialsRequired,
      InvalidConnectorConfig,
    ],
    audit: 'tenant_override.saved',
    handler: ({ actor, body, db, services }) => saveTenantOverride({ db, actor, services }, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${path}/tenant-overrides/{id}`,
    operationId: 'deleteTenantOverride',
    summary: 'Delete a tenant override; installation defaults apply again',
    access: access.permission('integrations.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [TenantOverrideNotFound, InstallationOverride],
    audit: 'tenant_override.deleted',
    handler: ({ actor, db, params, services }) => deleteTenantOverride({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/route/explain`,
    operationId: 'explainProviderRoute',
    summary: 'Explain which connectors would serve an operation for a tenant now, in which order, and why',
    access: access.permission('integrations.read'),
    schema: { body: ExplainRouteBody, response: { 200: ExplainedRoute } },
    errors: [TenantNotFound, OperationNotFound],
    audit: { none: 'explains only; makes no provider call' },
    handler: ({ actor, body, db, services }) => explain({ db, actor, services }, body),
  }),
];
