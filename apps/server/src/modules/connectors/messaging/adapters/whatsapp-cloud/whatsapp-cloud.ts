import type { RequestAdapter } from '#modules/connectors/messaging/adapter';
import { below, headerText } from '#modules/connectors/provider';

/**
 * WhatsApp's Cloud API and what is compatible with it. `config.phone_number_id` is the sender, `auth_config.token` the
 * access token; the base URL ends with the version, such as `/v23.0`.
 */
export const whatsappCloud: RequestAdapter = {
  channels: ['chatapp'],
  defaultChannels: ['chatapp'],
  needs: { config: { phone_number_id: /^[0-9]{1,32}$/ }, auth_config: { token: headerText } },
  problem: () => undefined,
  request({ baseUrl, config, credentials }, { to, text }) {
    return {
      url: below(baseUrl, `/${config['phone_number_id'] as string}/messages`),
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${credentials!['token'] as string}`,
      },
      body: JSON.stringify({
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to,
        type: 'text',
        text: { preview_url: false, body: text },
      }),
    };
  },
};
