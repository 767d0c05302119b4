import type { Services } from '#core/platform/services';
import type { OfChannel } from '#modules/notifications/notifications.types';

/** Queue of delivery tasks; one task of a channel of a tenant runs at a time. */
export const deliveriesWork = 'notifications-deliveries';

/** Key that serialises deliveries of a channel of a tenant. */
export const keyOf = ({ tenantId, channel }: OfChannel) => `${tenantId}:${channel}`;

/** Enqueues due deliveries for any process. */
export async function sendDeliveries({ queue }: Pick<Services, 'queue'>, targets: readonly OfChannel[]): Promise<void> {
  if (targets.length === 0) return;
  await queue.sendMany(
    deliveriesWork,
    targets.map((target) => ({ data: target, key: keyOf(target) })),
  );
}

/** Enqueues later deliveries; each minute has its own key, so that they do not delay earlier ones. */
export async function sendDeliveriesLater(
  { queue }: Pick<Services, 'queue'>,
  target: OfChannel,
  at: string,
): Promise<void> {
  await queue.send(deliveriesWork, target, { key: `${keyOf(target)}:${at.slice(0, 16)}`, startAfter: new Date(at) });
}
