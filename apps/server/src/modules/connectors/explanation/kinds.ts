import type { OperationKey } from '#modules/connectors/calls/operations';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import * as geocoding from '#modules/connectors/geocoding/adapters/adapters';
import type { Channel } from '#modules/connectors/messaging/adapter';
import { channelsOf } from '#modules/connectors/messaging/adapters/adapters';
import * as models from '#modules/connectors/models/adapters/adapters';
import * as translation from '#modules/connectors/translation/adapters/adapters';

type Kind = (row: Pick<ConnectorRow, 'api_key' | 'category' | 'config'>) => boolean;

const ofAdapters =
  ({
    categories,
    adapterOf,
  }: Pick<typeof geocoding | typeof models | typeof translation, 'categories' | 'adapterOf'>): Kind =>
  ({ api_key: key, category, config }) =>
    categories.includes(category) && adapterOf({ config, key }) !== undefined;

const ofChannel =
  (channel: Channel): Kind =>
  ({ api_key: key, category, config }) =>
    category === 'communication' && channelsOf({ config, key }).includes(channel);

/** Which connectors an operation is for. What a single call asks for, such as a pair of languages, may leave fewer. */
export const kinds: Readonly<Record<OperationKey, Kind>> = {
  // Each connector is checked by itself: nobody is chosen for it.
  'connectors.check': () => false,
  'messaging.sms': ofChannel('sms'),
  'messaging.chatapp': ofChannel('chatapp'),
  'messaging.email': ofChannel('email'),
  'translation.text': ofAdapters(translation),
  'translation.i18n': ofAdapters(translation),
  'translation.entity': ofAdapters(translation),
  'translation.entity_type': ofAdapters(translation),
  'models.list': ofAdapters(models),
  'geocoding.search': ofAdapters(geocoding),
  'geocoding.reverse': ofAdapters(geocoding),
};
