import { newId } from '#core/base/crypto/ids';
import type { ChannelMessage } from '#modules/notifications/channels/channel';
import type { Tenant } from '#test/support/factories';

/** A notification for the administrator of a tenant. */
export function messageFor(
  { tenantId, admin }: Pick<Tenant, 'tenantId' | 'admin'>,
  { person, ...rest }: Partial<Omit<ChannelMessage, 'person'>> & { person?: Partial<ChannelMessage['person']> } = {},
): ChannelMessage {
  const { userId: id, email } = admin;
  const facts = { display_name: 'Ada', locale: 'en', phone: '+4915112345678', timezone: null, status: 'active' };
  return {
    tenantId,
    deliveryId: newId(),
    notificationId: newId(),
    person: { tenant_id: tenantId, id, email, ...facts, ...person },
    category: 'maintenance.planned',
    texts: { title: 'Water off on Monday', body: 'From 8 to 10.' },
    link: 'https://house.example/notes/1',
    data: { house: 7 },
    isCritical: false,
    ...rest,
  };
}
