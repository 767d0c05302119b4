import { signMessage } from '#core/base/crypto/secrets';
import type { RequestAdapter } from '#modules/connectors/messaging/adapter';
import { firstProblem, headerText, type ProviderSettings } from '#modules/connectors/provider';

const headerName = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
// Standard Webhooks writes keys as `whsec_` and base64; any other text is the key itself.
const signingSecret = /^(?:whsec_[a-z0-9+/]{8,512}={0,2}|(?!whsec_).{1,512})$/is;

// These say how the message is carried, or are the signature itself.
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
]);

/**
 * A service of the customer's own: `{channel, to, text}` as JSON, with `subject` where a mail has one, or `{channel, notification}`
 * on channel `webhook`; signed as Standard Webhooks when `auth_config.secret` is set.
 * `auth_config.token` is sent as bearer token, or as it is in the header that `auth_config.header` names.
 */
export const webhook: RequestAdapter = {
  channels: ['sms', 'chatapp', 'email', 'webhook'],
  defaultChannels: ['sms', 'chatapp'],
  problem({ credentials }) {
    const has = (name: string) => credentials?.[name] !== undefined;
    const problem = firstProblem('auth_config', credentials, {
      ...(has('header') ? { header: headerName } : {}),
      ...(has('header') || has('token') ? { token: headerText } : {}),
      ...(has('secret') ? { secret: signingSecret } : {}),
    });
    if (problem !== undefined || !has('header')) return problem;
    const isOwn = ownHeaders.has((credentials!['header'] as string).toLowerCase());
    return isOwn ? 'auth_config.header names a header that the service sets itself.' : undefined;
  },
  request(settings, { channel, to, subject, text, notification }, { id, at }) {
    const body = JSON.stringify(channel === 'webhook' ? { channel, notification } : { channel, to, subject, text });
    const timestamp = String(Math.floor(at.getTime() / 1000));
    return {
      url: settings.baseUrl,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...authentication(settings),
        ...signature(settings, `${id}.${timestamp}.${body}`),
      },
      body,
      // Programs get notifications at least once; people must not get a message twice.
      hasIdempotencyKey: channel === 'webhook',
    };
  },
};

function authentication({ credentials }: ProviderSettings): Record<string, string> {
  const { header, token } = (credentials ?? {}) as { header?: string; token?: string };
  if (token === undefined) return {};
  return header === undefined ? { authorization: `Bearer ${token}` } : { [header.toLowerCase()]: token };
}

function signature({ credentials }: ProviderSettings, content: string): Record<string, string> {
  const { secret } = (credentials ?? {}) as { secret?: string };
  return secret === undefined ? {} : { 'webhook-signature': `v1,${signMessage(keyOf(secret), content)}` };
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
}
