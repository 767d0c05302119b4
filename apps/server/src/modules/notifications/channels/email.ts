import { plainName } from '#core/platform/mail/plain-name';
import type { Services } from '#core/platform/services';
import type { ChannelAdapter, ChannelMessage } from '#modules/notifications/channels/channel';
import { findBrand, findProven } from '#modules/notifications/channels/channels.queries';
import { handToConnectors } from '#modules/notifications/channels/messages';
import { absoluteLink, mailOf } from '#modules/notifications/channels/texts.rules';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'mail' | 'now' | 'settings'>;

/**
 * Sends through a connector for e-mail, otherwise as the service's own mail. The latter uses verified addresses only: otherwise
 * an administrator who adds users could send any text to any address.
 */
export const email: ChannelAdapter = async (services, message, signal) => {
  const { email: to } = message.person;
  if (to === '') return { kind: 'no_address' };
  const mail = { to, ...(await write(services, message)) };
  const outcome = await handToConnectors(services, message, { channel: 'email', ...mail }, signal);
  if (outcome.kind !== 'no_provider' || !services.mail.canDeliver) return outcome;
  const { tenantId, person, deliveryId, isCritical } = message;
  const db = services.database.credential(tenantId);
  if ((await db.first(findProven({ tenantId, id: person.id, email: to }))) === undefined) return { kind: 'no_address' };
  // The id makes a second attempt a no-op.
  const priority = isCritical ? 'critical' : 'notice';
  await db.interactive.all(services.mail.compose({ id: deliveryId, priority, tenantId, ...mail }, services.now()));
  services.mail.wake();
  return { kind: 'taken' };
};

async function write(services: Dependencies, { tenantId, person, ...message }: ChannelMessage) {
  const found = await services.database.credential(tenantId).first(findBrand({ tenantId }));
  const { publicUrl } = services.settings;
  const settingsUrl = `${publicUrl}/settings/notifications`;
  const link = absoluteLink(message.link, publicUrl);
  return mailOf({ ...message, link, locale: person.locale, tenantName: plainName(found?.name ?? ''), settingsUrl });
}
