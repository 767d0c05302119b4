import type { Services } from '#core/services';
import type { OfChannel } from '#modules/notifications/deliveries/deliveries.types';

/** The work that hands deliveries to those who carry them on, one turn of a channel of a tenant at a time. */
export const deliveriesWork = 'notifications-deliveries';

/** What is delivered one turn at a time. */
export const keyOf = ({ tenantId, channel }: OfChannel) => `${tenantId}:${channel}`;

/** Has deliveries that are due done, by whatever process has time. */
export async function sendDeliveries({ queue }: Pick<Services, 'queue'>, ways: readonly OfChannel[]): Promise<void> {
  if (ways.length === 0) return;
  await queue.sendMany(
    deliveriesWork,
    ways.map((way) => ({ data: way, key: keyOf(way) })),
  );
}

/** The same for some that are due later; a key of its own for each minute, so that none holds up what is due before it. */
export async function sendDeliveriesLater(
  { queue }: Pick<Services, 'queue'>,
  way: OfChannel,
  at: string,
): Promise<void> {
  await queue.send(deliveriesWork, way, { key: `${keyOf(way)}:${at.slice(0, 16)}`, startAfter: new Date(at) });
}
