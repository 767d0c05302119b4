import { defineError } from '#core/errors/app-error';

export const ConnectorNotFound = defineError('NOT_FOUND', 'The connector does not exist.');
export const ConnectorKeyTaken = defineError(
  'CONFLICT',
  'A connector with this api_key exists already.',
  'API_KEY_TAKEN',
);
export const TooManyConnectors = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant has at most 100 connectors.',
  'TOO_MANY_CONNECTORS',
);
export const SystemLevelConnector = defineError(
  'AUTHORIZATION_ERROR',
  'Connectors of the installation are changed by system administrators, in the system tenant.',
  'SYSTEM_LEVEL',
);
export const AddressNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'api_base_url is an address that the service does not call: a private one, or a port that is not open to calls.',
  'ADDRESS_NOT_ALLOWED',
);
export const CredentialsRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'Send auth_config in full: the stored credentials are for another address, or there is none under a masked key.',
  'CREDENTIALS_REQUIRED',
);
export const InvalidConnectorConfig = defineError(
  'UNPROCESSABLE_ENTITY',
  'config, auth_config or customer_credentials cannot be used: details.problem says what does not fit.',
  'INVALID_CONFIG',
);
export const TooManyConnectorTests = defineError(
  'RATE_LIMIT_EXCEEDED',
  'A tenant tests connectors ten times a minute at most. Try again after the time in Retry-After.',
  'TOO_MANY_TESTS',
);

export const NoDeliveryChannel = defineError(
  'UNPROCESSABLE_ENTITY',
  'No connector of the tenant can deliver such messages.',
  'NO_DELIVERY_CHANNEL',
);
export const MessageNotDelivered = defineError('UPSTREAM_ERROR', 'The message could not be handed to any provider.');

export const NoProvider = defineError(
  'SERVICE_UNAVAILABLE',
  'No connector of the tenant or the installation can do this: create one that can, or enable it again.',
  'NO_PROVIDER',
);
/** `details.asked` is false where all were only waited for: nobody was asked. */
export const ProvidersFailed = defineError(
  'UPSTREAM_ERROR',
  'No provider gave a usable answer. What went wrong is in the log of the control plane.',
);
export const ProvidersRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'No provider that was asked takes this: change the language, number, address, text or task. Where Retry-After is given, one that is away may take it then.',
  'REFUSED_BY_PROVIDERS',
);
export const OperationDisabled = defineError(
  'AUTHORIZATION_ERROR',
  'This operation is switched off for the tenant.',
  'OPERATION_DISABLED',
);
export const QuotaExceeded = defineError(
  'RATE_LIMIT_EXCEEDED',
  'The ceiling of this operation is reached. It begins anew after the time in Retry-After.',
  'QUOTA_EXCEEDED',
);
