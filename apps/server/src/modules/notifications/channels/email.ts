import type { Services } from '#core/services';
import type { Carrier, Parcel } from '#modules/notifications/channels/channel';
import { findProven, findTenantName } from '#modules/notifications/channels/channels.queries';
import { handToConnectors } from '#modules/notifications/channels/messages';
import { absoluteLink, mailOf } from '#modules/notifications/channels/texts.rules';

/**
 * Through a connector for mail where there is one, else as the service's own mail. That goes to proven addresses only: whoever
 * may add users to a tenant could have anything written to anybody.
 */
export const email: Carrier = async (services, parcel, signal) => {
  const { email: to } = parcel.person;
  if (to === '') return { kind: 'no_address' };
  const mail = { to, ...(await write(services, parcel)) };
  const outcome = await handToConnectors(services, parcel, { channel: 'email', ...mail }, signal);
  if (outcome.kind !== 'no_provider' || !services.mail.canDeliver) return outcome;
  const { tenantId, person, deliveryId, isCritical } = parcel;
  const db = services.database.credential(tenantId);
  if ((await db.first(findProven({ tenantId, id: person.id, email: to }))) === undefined) return { kind: 'no_address' };
  // The id makes nothing of a second attempt.
  const priority = isCritical ? 'critical' : 'notice';
  await db.slow.all(services.mail.compose({ id: deliveryId, priority, ...mail }, services.now()));
  services.mail.wake();
  return { kind: 'taken' };
};

async function write(services: Services, { tenantId, person, ...parcel }: Parcel) {
  const found = await services.database.tenant(tenantId).first(findTenantName({ tenantId }));
  const { publicUrl } = services.settings;
  const settingsUrl = `${publicUrl}/settings/notifications`;
  const link = absoluteLink(parcel.link, publicUrl);
  return mailOf({ ...parcel, link, locale: person.locale, tenantName: found?.name ?? '', settingsUrl });
}
