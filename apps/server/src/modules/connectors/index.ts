import { defineModule } from '#core/http/route';
import { ConnectorKeyTaken } from '#modules/connectors/connectors.errors';
import { connectorJobs } from '#modules/connectors/connectors.jobs';
import { connectorRoutes } from '#modules/connectors/connectors.routes';

export { parseRetryAfter } from '#modules/connectors/calls/answers.rules';
export { isOperationKey, operations, type OperationKey } from '#modules/connectors/calls/operations';
export { assertOperationEnabled } from '#modules/connectors/calls/provider-calls.service';
export {
  CredentialsRequired,
  InvalidConnectorConfig,
  MessageNotDelivered,
  NoDeliveryChannel,
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/connectors.errors';
export { explainRoute, type ExplainedProvider } from '#modules/connectors/explanation/explanation.service';
export type { Place } from '#modules/connectors/geocoding/adapter';
export { findPlaceAt, searchPlaces } from '#modules/connectors/geocoding/geocoding.service';
export type { Model, ModelTask } from '#modules/connectors/models/adapter';
export { fetchModels, listModelSources } from '#modules/connectors/models/models.service';
export {
  maskCustomerCredentials,
  readCustomerCredentials,
  sealCustomerCredentials,
} from '#modules/connectors/overrides/customer-credentials';
export { quotaLimitProblem, termsOf, type QuotaLimit, type Terms } from '#modules/connectors/overrides/overrides.rules';
export { endOf, startOf } from '#modules/connectors/overrides/quotas.rules';
export { findMessageRoute, sendMessage, type MessageRoute } from '#modules/connectors/messaging/messaging.service';
export { protectionVersion, translateTexts } from '#modules/connectors/translation/translation.service';

/** Connectors to outside providers, and the messages that leave through them. */
export const connectorsModule = defineModule({
  name: 'connectors',
  description: 'Connectors to outside providers',
  routes: connectorRoutes,
  jobs: connectorJobs,
  constraints: { connectors_api_key_key: ConnectorKeyTaken },
});
