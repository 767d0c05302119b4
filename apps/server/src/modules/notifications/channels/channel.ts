import type { Services } from '#core/platform/services';
import type { Outcome } from '#modules/notifications/channels/outcome.types';
import type { PersonRow } from '#modules/notifications/notifications.tables';
import type { Texts } from '#modules/notifications/notifications.types';

type Dependencies = Pick<
  Services,
  'callLog' | 'database' | 'encryption' | 'log' | 'mail' | 'now' | 'outbound' | 'settings'
>;

export type { Outcome } from '#modules/notifications/channels/outcome.types';

/** The rendered notification for one recipient. */
export type ChannelMessage = {
  tenantId: string;
  /** Identifier of the delivery, the same for each attempt, so that channels can detect duplicates. */
  deliveryId: string;
  notificationId: string;
  person: PersonRow;
  category: string;
  texts: Texts;
  link: string | null;
  data: Record<string, unknown>;
  isCritical: boolean;
};

/**
 * Sends a message over a channel.
 * @throws the reason of the signal if it is aborted, independent of the outcome; otherwise only internal errors
 */
export type ChannelAdapter = (services: Dependencies, message: ChannelMessage, signal: AbortSignal) => Promise<Outcome>;
