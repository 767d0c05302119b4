import { createHmac } from 'node:crypto';

import type { Message } from '#modules/connectors/messaging/adapter';
import type { HttpFake, Received, Verdict } from '#modules/connectors/messaging/adapters/testing/http-provider';

const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

/** A customer's own service that checks the signature as Standard Webhooks says (spec, "Verifying webhook authenticity"). */
export const webhookFake: HttpFake = {
  adapter: 'webhook',
  basePath: '/hooks/messages?key=1',
  channels: ['sms', 'chatapp', 'email'],
  config: { channels: ['sms', 'chatapp', 'email', 'webhook'] },
  credentials: { header: 'X-Hook-Token', token: 'hook canary token', secret: `whsec_${key.toString('base64')}` },
  wrongCredentials: { header: 'X-Hook-Token', token: 'hook canary token', secret: 'canary of another key' },
  respond(request): Verdict {
    const { pathname, search } = request.url;
    if (request.method !== 'POST' || pathname + search !== '/hooks/messages?key=1') return refuse(404);
    if (request.headers['content-type'] !== 'application/json') return refuse(415);
    if (request.headers['x-hook-token'] !== 'hook canary token' || !isSigned(request)) return refuse(401);
    const message = JSON.parse(request.body) as Partial<Message>;
    return message.channel === 'webhook' ? judgeNotification(message) : judgeMessage(message);
  },
};

function judgeMessage({ channel, to, subject, text, ...rest }: Partial<Message>): Verdict {
  if (to === undefined || text === undefined || Object.keys(rest).length > 0) return refuse(400);
  if (channel === undefined || !webhookFake.channels.includes(channel)) return refuse(400);
  const taken = { channel, to, text, ...(subject === undefined ? {} : { subject }) };
  return { status: 204, body: undefined, taken };
}

/** Accepts only a notification, which is identified by the id of its delivery. */
function judgeNotification({ channel: _channel, notification, ...rest }: Partial<Message>): Verdict {
  if (typeof notification?.['deliveryId'] !== 'string' || Object.keys(rest).length > 0) return refuse(400);
  return { status: 204, body: undefined, taken: { channel: 'webhook', to: '', text: JSON.stringify(notification) } };
}

function isSigned({ headers, body }: Received): boolean {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || !/^\d{10}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return headers['webhook-signature'] === `v1,${expected}`;
}

function refuse(status: number): Verdict {
  return { status, body: { error: 'refused' } };
}
