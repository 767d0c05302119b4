import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import type { Channel } from '#modules/notifications/notifications.types';

/** A channel of its own waits for no other: a mail server that hangs keeps nobody from their inbox. */
export type OfChannel = { tenantId: string; channel: Channel };

export type Delivery = DeliveryRow;
