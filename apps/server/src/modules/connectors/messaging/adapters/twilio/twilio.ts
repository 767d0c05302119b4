import type { RequestAdapter } from '#modules/connectors/messaging/adapter';
import { below, headerText } from '#modules/connectors/provider';

const version = '/2010-04-01';

/**
 * Twilio's Messages resource and what is compatible with it. `config.from` is the sender, `auth_config` holds
 * `account_sid` and `auth_token`.
 */
export const twilio: RequestAdapter = {
  channels: ['sms', 'chatapp'],
  defaultChannels: ['sms'],
  needs: {
    // A number, a short code, or a name of up to 11 characters.
    config: { from: /^(?:\+?[0-9]{3,15}|[a-z0-9 ]{1,11})$/i },
    auth_config: { account_sid: /^[a-z0-9]{1,64}$/i, auth_token: headerText },
  },
  problem: () => undefined,
  request({ baseUrl, config, credentials }, { channel, to, text }) {
    const { account_sid: sid, auth_token: token } = credentials as { account_sid: string; auth_token: string };
    const { pathname } = new URL(baseUrl);
    const isVersioned = pathname.includes(version);
    const kind = channel === 'chatapp' ? 'whatsapp:' : '';
    const form = { To: `${kind}${to}`, From: `${kind}${config['from'] as string}`, Body: text };
    return {
      url: below(baseUrl, `${isVersioned ? '' : version}/Accounts/${sid}/Messages.json`),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`,
      },
      body: new URLSearchParams(form).toString(),
    };
  },
};
