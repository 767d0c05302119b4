import type { OperationKey } from '#modules/connectors/calls/operations';
import * as geocoding from '#modules/connectors/geocoding/adapters/adapters';
import type { Describing } from '#modules/connectors/kind';
import { servesChannel } from '#modules/connectors/messaging/adapters/adapters';
import * as models from '#modules/connectors/models/adapters/adapters';
import * as translation from '#modules/connectors/translation/adapters/adapters';

/** Connectors that can serve an operation; a single call may allow fewer, such as for a pair of languages. */
export const kinds: Readonly<Record<OperationKey, (row: Describing) => boolean>> = {
  // A health check concerns one connector and has no route.
  'connectors.check': () => false,
  'messaging.sms': servesChannel('sms'),
  'messaging.chatapp': servesChannel('chatapp'),
  'messaging.email': servesChannel('email'),
  'messaging.webhook': servesChannel('webhook'),
  'translation.text': translation.serves,
  'translation.i18n': translation.serves,
  'translation.entity': translation.serves,
  'translation.entity_type': translation.serves,
  'models.list': models.serves,
  'geocoding.search': geocoding.serves,
  'geocoding.reverse': geocoding.serves,
};
