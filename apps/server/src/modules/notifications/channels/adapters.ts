import type { ChannelAdapter } from '#modules/notifications/channels/channel';
import { email } from '#modules/notifications/channels/email';
import { handToConnectors } from '#modules/notifications/channels/messages';
import { absoluteLink, chatText, smsText } from '#modules/notifications/channels/texts.rules';
import type { Channel } from '#modules/notifications/notifications.types';
import { push } from '#modules/notifications/push/push';

/** Sends to the phone number of the recipient. */
function byPhone(channel: 'sms' | 'chatapp', write: typeof smsText): ChannelAdapter {
  return async (services, message, signal) => {
    const { phone: to } = message.person;
    if (to === null || to === '') return { kind: 'no_address' };
    const link = absoluteLink(message.link, services.settings.publicUrl);
    return handToConnectors(services, message, { channel, to, text: write({ ...message, link }) }, signal);
  };
}

/** Sends the complete, unchanged content to a program. */
const webhook: ChannelAdapter = (services, message, signal) => {
  const { person, texts, ...rest } = message;
  const { deliveryId, notificationId, tenantId, category, link, data, isCritical } = rest;
  const ids = { deliveryId, notificationId, tenantId, userId: person.id };
  const notification = { ...ids, category, ...texts, link, data, isCritical };
  return handToConnectors(services, message, { channel: 'webhook', to: '', text: '', notification }, signal);
};

/** Channel adapters by channel; the inbox needs none. */
export const adapters: Readonly<Record<Exclude<Channel, 'in_app'>, ChannelAdapter>> = {
  push,
  email,
  sms: byPhone('sms', smsText),
  chatapp: byPhone('chatapp', chatText),
  webhook,
};
