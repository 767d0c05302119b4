import type { Carrier } from '#modules/notifications/channels/channel';
import { email } from '#modules/notifications/channels/email';
import { handToConnectors } from '#modules/notifications/channels/messages';
import { absoluteLink, chatText, smsText } from '#modules/notifications/channels/texts.rules';
import type { Channel } from '#modules/notifications/notifications.types';
import { push } from '#modules/notifications/push/push';

/** To the phone of the person. */
function byPhone(channel: 'sms' | 'chatapp', write: typeof smsText): Carrier {
  return async (services, parcel, signal) => {
    const { phone: to } = parcel.person;
    if (to === null || to === '') return { kind: 'no_address' };
    const link = absoluteLink(parcel.link, services.settings.publicUrl);
    return handToConnectors(services, parcel, { channel, to, text: write({ ...parcel, link }) }, signal);
  };
}

/** To a program: everything, and as it is. */
const webhook: Carrier = (services, parcel, signal) => {
  const { person, texts, ...rest } = parcel;
  const { deliveryId, notificationId, tenantId, category, link, data, isCritical } = rest;
  const ids = { deliveryId, notificationId, tenantId, userId: person.id };
  const notification = { ...ids, category, ...texts, link, data, isCritical };
  return handToConnectors(services, parcel, { channel: 'webhook', to: '', text: '', notification }, signal);
};

/** Whoever carries notifications on, by channel; the inbox is where they are already. */
export const carriers: Readonly<Record<Exclude<Channel, 'in_app'>, Carrier>> = {
  push,
  email,
  sms: byPhone('sms', smsText),
  chatapp: byPhone('chatapp', chatText),
  webhook,
};
