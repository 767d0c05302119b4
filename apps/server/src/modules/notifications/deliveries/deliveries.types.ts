import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import type { Channel } from '#modules/notifications/notifications.types';

/** Channels are independent: a mail server that hangs does not delay the inbox. */
export type OfChannel = { tenantId: string; channel: Channel };

export type Delivery = DeliveryRow;
