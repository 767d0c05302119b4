import type { HttpFake, Verdict } from '#modules/connectors/messaging/adapters/testing/http-provider';

const phoneNumberId = '106540352242922';
const token = 'EAAcanary0123456789';

/** WhatsApp Cloud API, "Text messages" and "Error codes". */
export const whatsappCloudFake: HttpFake = {
  adapter: 'whatsapp-cloud',
  basePath: '/v23.0',
  channels: ['chatapp'],
  config: { phone_number_id: phoneNumberId },
  credentials: { token },
  wrongCredentials: { token: 'EAAcanary of another account' },
  respond({ method, url, headers, body }): Verdict {
    if (headers.authorization !== `Bearer ${token}`)
      return refuse(401, 190, 'OAuthException', 'Error validating access token');
    if (method !== 'POST' || url.pathname !== `/v23.0/${phoneNumberId}/messages`)
      return refuse(400, 100, 'GraphMethodException', 'Unsupported post request.');
    if (headers['content-type'] !== 'application/json') return refuse(400, 100, 'OAuthException', 'Invalid parameter');
    return judgeMessage(JSON.parse(body) as Record<string, any>);
  },
};

function judgeMessage({
  messaging_product,
  recipient_type = 'individual',
  to,
  type,
  text,
}: Record<string, any>): Verdict {
  const isText = type === 'text' && typeof text?.body === 'string' && text.body.length >= 1 && text.body.length <= 4096;
  if (messaging_product !== 'whatsapp' || recipient_type !== 'individual' || !isText)
    return refuse(400, 100, 'OAuthException', '(#100) Invalid parameter');
  if (typeof to !== 'string' || !/^\+?[1-9]\d{6,14}$/.test(to))
    return refuse(400, 131_009, 'OAuthException', '(#131009) Parameter value is not valid');
  const contacts = [{ input: to, wa_id: to.replace('+', '') }];
  const accepted = { messaging_product, contacts, messages: [{ id: 'wamid.HBgLMTY0NjcwNDM1OTUVAgARGBI' }] };
  return { status: 200, body: accepted, taken: { channel: 'chatapp', to, text: text.body } };
}

function refuse(status: number, code: number, type: string, message: string): Verdict {
  return { status, body: { error: { message, type, code, fbtrace_id: 'AbCdEf' } } };
}
