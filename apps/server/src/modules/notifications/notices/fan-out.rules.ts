import type { NoticeRow, PersonRow } from '#modules/notifications/notifications.tables';
import {
  channels,
  type Channel,
  type DeliveryReason,
  type DeliveryStatus,
  type Layer,
  type Texts,
} from '#modules/notifications/notifications.types';
import { decider, timer, type Preference } from '#modules/notifications/preferences/decision.rules';

/** The properties of a user that the fan-out needs. */
export type Recipient = Pick<PersonRow, 'id' | 'locale' | 'timezone'>;

/** The properties of a notice that the fan-out needs. */
type Told = Pick<NoticeRow, 'category' | 'channels' | 'is_critical' | 'i18n'>;

/** The texts of a notice. */
type Written = Pick<NoticeRow, 'title' | 'body' | 'i18n'>;

/** The delivery of a notification over a channel, possibly suppressed by a preference. */
type PlannedDelivery = {
  channel: Channel;
  status: DeliveryStatus;
  reason: DeliveryReason;
  layer: Layer;
  preferenceId: string | null;
  dueAt: string;
  sentAt: string | null;
};

/** Language, inbox time and deliveries for one recipient. */
export type DeliveryPlan = { language: string | null; inboxAt: string | null; deliveries: PlannedDelivery[] };

/** Plans deliveries for the recipients of one batch. */
export function createPlanner(notice: Told, defaults: readonly Preference[], now: Date) {
  const decide = decider(notice.category, defaults);
  const { withheldBy, unknownZones } = timer(now);
  const at = now.toISOString();

  function planDelivery(
    channel: Channel,
    person: Recipient,
    overrides: readonly Preference[],
  ): PlannedDelivery | undefined {
    const decision = decide(channel, overrides);
    const { isEnabled, layer, preferenceId } = decision;
    if (!isEnabled && preferenceId === null) return undefined;
    const common = { channel, layer, preferenceId, dueAt: at, sentAt: null };
    const withheld = withheldBy(decision, { timezone: person.timezone, isCritical: notice.is_critical });
    if (withheld !== undefined) return { ...common, ...withheld };
    // The inbox is in the database and needs no adapter.
    if (channel === 'in_app') return { ...common, status: 'sent', reason: 'delivered', sentAt: at };
    return { ...common, status: 'queued', reason: 'due' };
  }

  return {
    unknownZones,
    /** Channels and times for a recipient; a channel that is off by the built-in default has no delivery. */
    planFor(person: Recipient, overrides: readonly Preference[]): DeliveryPlan {
      const deliveries = (notice.channels ?? channels).flatMap(
        (channel) => planDelivery(channel, person, overrides) ?? [],
      );
      const inbox = deliveries.find(({ channel }) => channel === 'in_app');
      return { language: languageOf(notice.i18n, person.locale), inboxAt: inbox?.sentAt ?? null, deliveries };
    },
  };
}

/** The language of a locale, if the notice has texts in it; null for the texts of the notice itself. */
function languageOf(i18n: Told['i18n'], locale: string): string | null {
  const language = locale.split(/[-_]/)[0]!.toLowerCase();
  return Object.hasOwn(i18n, language) ? language : null;
}

/** Texts in the language of the notification; missing ones come from the notice. */
export function textsIn(language: string | null, { title, body, i18n }: Written): Texts {
  const own = language !== null && Object.hasOwn(i18n, language) ? i18n[language]! : {};
  return { title: own.title ?? title, body: own.body ?? body };
}
