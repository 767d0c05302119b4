import type { Services } from '#core/services';
import type { Outcome } from '#modules/notifications/channels/outcome.types';
import type { PersonRow } from '#modules/notifications/notifications.tables';
import type { Texts } from '#modules/notifications/notifications.types';

export type { Outcome } from '#modules/notifications/channels/outcome.types';

/** One notification on its way to one person. */
export type Parcel = {
  tenantId: string;
  /** Of the delivery, the same for each attempt: for channels that recognise repetitions. */
  deliveryId: string;
  notificationId: string;
  /** The same object for parcels that are on their way at the same time, so that what concerns all of them is read once. */
  moment: object;
  person: PersonRow;
  category: string;
  texts: Texts;
  link: string | null;
  data: Record<string, unknown>;
  isCritical: boolean;
};

/**
 * Hands a notification to whoever carries it on.
 * @throws the reason of the signal where it was aborted, whatever came of the attempt; else only what is a fault of our own
 */
export type Carrier = (services: Services, parcel: Parcel, signal: AbortSignal) => Promise<Outcome>;
