import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import {
  AddressNotAllowed,
  ConnectorKeyTaken,
  ConnectorNotFound,
  CredentialsRequired,
  InvalidConnectorConfig,
  SystemLevelConnector,
  TooManyConnectorTests,
  TooManyConnectors,
} from '#modules/connectors/connectors.errors';
import * as schemas from '#modules/connectors/connectors.schemas';
import {
  createConnector,
  deleteConnector,
  disableConnector,
  enableConnector,
  getConnector,
  listConnectors,
  testConnector,
  updateConnector,
} from '#modules/connectors/connectors.service';
import { ConnectorDashboard } from '#modules/connectors/dashboard/dashboard.schemas';
import { getConnectorDashboard } from '#modules/connectors/dashboard/dashboard.service';

const path = '/api/v1/secure/ai/providers';

export const connectorRoutes = [
  defineRoute({
    method: 'GET',
    path,
    operationId: 'listConnectors',
    summary: 'List connectors: those of the tenant in failover order, then those of the installation',
    access: access.permission('providers.read'),
    schema: { query: schemas.ListConnectorsQuery, response: { 200: schemas.ConnectorPage } },
    handler: ({ actor, db, query, services }) => listConnectors({ db, actor, services }, query),
  }),
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createConnector',
    summary: 'Create a connector; its credentials are stored encrypted and never shown again',
    access: access.permission('providers.manage'),
    schema: { body: schemas.CreateConnectorBody, response: { 201: schemas.ConnectorAnswer } },
    errors: [
      SystemLevelConnector,
      ConnectorKeyTaken,
      TooManyConnectors,
      AddressNotAllowed,
      CredentialsRequired,
      InvalidConnectorConfig,
    ],
    audit: 'provider.created',
    handler: ({ actor, body, db, services }) => createConnector({ db, actor, services }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/dashboard`,
    operationId: 'getConnectorDashboard',
    summary: 'Get the health of all connectors and the calls of the tenant in the last 24 hours',
    access: access.permission('providers.read'),
    schema: { response: { 200: ConnectorDashboard } },
    handler: ({ db, services }) => getConnectorDashboard({ db, services }),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/{id}`,
    operationId: 'getConnector',
    summary: 'Get a connector with masked credentials',
    access: access.permission('providers.read'),
    schema: { params: IdParams, response: { 200: schemas.ConnectorAnswer } },
    errors: [ConnectorNotFound],
    handler: ({ actor, db, params, services }) => getConnector({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${path}/{id}`,
    operationId: 'updateConnector',
    summary: 'Update a connector; a masked credential keeps the stored value',
    access: access.permission('providers.manage'),
    schema: { params: IdParams, body: schemas.UpdateConnectorBody, response: { 200: schemas.ConnectorAnswer } },
    errors: [SystemLevelConnector, ConnectorNotFound, AddressNotAllowed, CredentialsRequired, InvalidConnectorConfig],
    audit: 'provider.updated',
    handler: ({ actor, body, db, params, services }) => updateConnector({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${path}/{id}`,
    operationId: 'deleteConnector',
    summary: 'Delete a connector',
    access: access.permission('providers.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [SystemLevelConnector, ConnectorNotFound],
    audit: 'provider.deleted',
    handler: ({ actor, db, params, services }) => deleteConnector({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/{id}/enable`,
    operationId: 'enableConnector',
    summary: 'Enable a connector and reset its failures',
    access: access.permission('providers.manage'),
    schema: { params: IdParams, response: { 200: schemas.ConnectorAnswer } },
    errors: [SystemLevelConnector, ConnectorNotFound],
    audit: 'provider.enabled',
    handler: ({ actor, db, params, services }) => enableConnector({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/{id}/disable`,
    operationId: 'disableConnector',
    summary: 'Disable a connector',
    access: access.permission('providers.manage'),
    schema: { params: IdParams, response: { 200: schemas.ConnectorAnswer } },
    errors: [SystemLevelConnector, ConnectorNotFound],
    audit: 'provider.disabled',
    handler: ({ actor, db, params, services }) => disableConnector({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/{id}/test`,
    operationId: 'testConnector',
    summary: 'Run a health check on a connector',
    access: access.permission('providers.manage'),
    schema: { params: IdParams, response: { 200: schemas.ConnectorTest } },
    errors: [SystemLevelConnector, ConnectorNotFound, TooManyConnectorTests],
    audit: 'provider.tested',
    handler: ({ actor, db, params, services, untilAbandoned }) =>
      testConnector({ db, actor, services }, params.id, untilAbandoned()),
  }),
];
