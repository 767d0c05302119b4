import { defineModule } from '#core/http/route';
import { ConnectorKeyTaken } from '#modules/connectors/connectors.errors';
import { connectorRoutes } from '#modules/connectors/connectors.routes';

export { MessageNotDelivered, NoDeliveryChannel } from '#modules/connectors/connectors.errors';
export { canSendMessage, sendMessage } from '#modules/connectors/messaging/messaging.service';

/** Connectors to outside providers, and the messages that leave through them. */
export const connectorsModule = defineModule({
  name: 'connectors',
  description: 'Connectors to outside providers',
  routes: connectorRoutes,
  constraints: { connectors_api_key_key: ConnectorKeyTaken },
});
