import { defineError } from '#core/base/errors/app-error';

export const ConnectorNotFound = defineError('NOT_FOUND', 'The connector does not exist.');
export const ConnectorKeyTaken = defineError(
  'CONFLICT',
  'A connector with this api_key already exists. Use another api_key.',
  'API_KEY_TAKEN',
);
export const TooManyConnectors = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant can have at most 100 connectors. Delete one first.',
  'TOO_MANY_CONNECTORS',
);
export const SystemLevelConnector = defineError(
  'AUTHORIZATION_ERROR',
  'Only system administrators can change connectors of the installation, in the system tenant.',
  'SYSTEM_LEVEL',
);
export const AddressNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'The service does not call the address in api_base_url: it is private, or its port is not allowed. Use a public address.',
  'ADDRESS_NOT_ALLOWED',
);
export const CredentialsRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'The stored credentials belong to another address, or a masked key has no stored value. Send auth_config in full.',
  'CREDENTIALS_REQUIRED',
);
export const InvalidConnectorConfig = defineError(
  'UNPROCESSABLE_ENTITY',
  'config, auth_config or customer_credentials is invalid; details.problem names the reason. Correct it and resubmit.',
  'INVALID_CONFIG',
);
export const TooManyConnectorTests = defineError(
  'RATE_LIMIT_EXCEEDED',
  'A tenant can test connectors at most ten times a minute. Try again after the time in Retry-After.',
  'TOO_MANY_TESTS',
);

export const NoDeliveryChannel = defineError(
  'UNPROCESSABLE_ENTITY',
  'No connector of the tenant can deliver messages over this channel. Create or enable one.',
  'NO_DELIVERY_CHANNEL',
);
export const MessageNotDelivered = defineError('UPSTREAM_ERROR', 'No provider accepted the message. Try again later.');

export const NoProvider = defineError(
  'SERVICE_UNAVAILABLE',
  'No connector of the tenant or the installation can perform this operation. Create or enable one.',
  'NO_PROVIDER',
);
/** `details.asked` is false if all providers were paused, so that no call was made. */
export const ProvidersFailed = defineError(
  'UPSTREAM_ERROR',
  'No provider gave a usable answer. The provider call log of the control plane has the reason.',
);
export const ProvidersRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'No provider accepts the request. Change the language, number, address, text or task. If Retry-After is present, an unavailable provider may accept it then.',
  'REFUSED_BY_PROVIDERS',
);
export const OperationDisabled = defineError(
  'AUTHORIZATION_ERROR',
  'This operation is disabled for the tenant.',
  'OPERATION_DISABLED',
);
export const QuotaExceeded = defineError(
  'RATE_LIMIT_EXCEEDED',
  'The quota limit of this operation is reached. The quota resets after the time in Retry-After.',
  'QUOTA_EXCEEDED',
);
