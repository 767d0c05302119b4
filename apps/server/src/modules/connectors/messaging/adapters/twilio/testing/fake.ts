import type { HttpFake, Verdict } from '#modules/connectors/messaging/adapters/testing/http-provider';

const sid = 'AC00112233445566778899aabbccddeeff';
const token = 'canary0123456789canary0123456789';

/** Twilio, "Messages resource: create a Message", and its error dictionary. */
export const twilioFake: HttpFake = {
  adapter: 'twilio',
  basePath: '',
  channels: ['sms', 'chatapp'],
  config: { from: '+15005550006', channels: ['sms', 'chatapp'] },
  credentials: { account_sid: sid, auth_token: token },
  wrongCredentials: { account_sid: sid, auth_token: 'canary of another account' },
  respond({ method, url, headers, body }): Verdict {
    const expected = `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`;
    if (headers.authorization !== expected) return refuse(401, 20_003, 'Authenticate');
    if (method !== 'POST' || url.pathname !== `/2010-04-01/Accounts/${sid}/Messages.json`)
      return refuse(404, 20_404, 'The requested resource was not found');
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') return refuse(415, 20_415, 'Media type');
    const form = new URLSearchParams(body);
    return judgeMessage(form.get('To') ?? '', form.get('From') ?? '', form.get('Body') ?? '');
  },
};

function judgeMessage(to: string, from: string, text: string): Verdict {
  if (to === '') return refuse(400, 21_604, "A 'To' phone number is required.");
  if (!/^(whatsapp:)?\+[1-9]\d{6,14}$/.test(to)) return refuse(400, 21_211, "Invalid 'To' Phone Number");
  if (from === '') return refuse(400, 21_603, "A 'From' phone number is required.");
  if (from.startsWith('whatsapp:') !== to.startsWith('whatsapp:'))
    return refuse(400, 21_910, "Invalid 'From' and 'To'");
  if (text === '') return refuse(400, 21_602, 'Message body is required.');
  if (text.length > 1600) return refuse(400, 21_617, 'The concatenated message body exceeds the 1600 character limit.');
  const message = { sid: 'SM00112233445566778899aabbccddeeff', status: 'queued', to, from, body: text };
  const channel = to.startsWith('whatsapp:') ? 'chatapp' : 'sms';
  return { status: 201, body: message, taken: { channel, to: to.replace('whatsapp:', ''), text } };
}

function refuse(status: number, code: number, message: string): Verdict {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}
