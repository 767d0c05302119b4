import type { Recipient, Told, Written } from '#modules/notifications/notices/notices.types';
import {
  channels,
  type Channel,
  type DeliveryReason,
  type DeliveryStatus,
  type Layer,
  type Texts,
} from '#modules/notifications/notifications.types';
import { decider, timer, type Preference } from '#modules/notifications/preferences/decision.rules';

/** A channel that a notification takes, or does not take because somebody said so. */
type Way = {
  channel: Channel;
  status: DeliveryStatus;
  reason: DeliveryReason;
  layer: Layer;
  preferenceId: string | null;
  dueAt: string;
  sentAt: string | null;
};

/** How one person is told. */
export type Telling = { language: string | null; inboxAt: string | null; ways: Way[] };

/** For all whom a notice is told to at a moment. */
export function teller(notice: Told, defaults: readonly Preference[], now: Date) {
  const decide = decider(notice.category, defaults);
  const { timeOf, unknownZones } = timer(now);
  const at = now.toISOString();

  function wayOf(channel: Channel, person: Recipient, overrides: readonly Preference[]): Way | undefined {
    const decision = decide(channel, overrides);
    const { isEnabled, layer, preferenceId } = decision;
    if (!isEnabled && preferenceId === null) return undefined;
    const way = { channel, layer, preferenceId, dueAt: at, sentAt: null };
    if (!isEnabled) return { ...way, status: 'suppressed', reason: 'turned_off' };
    const time = timeOf(decision, { timezone: person.timezone, isCritical: notice.is_critical });
    if (time.kind === 'dropped') return { ...way, status: 'suppressed', reason: 'quiet_hours' };
    if (time.kind === 'later') {
      return { ...way, status: 'queued', reason: 'quiet_hours', dueAt: time.at.toISOString() };
    }
    // The inbox is here: nobody has to carry it anywhere.
    if (channel === 'in_app') return { ...way, status: 'sent', reason: 'delivered', sentAt: at };
    return { ...way, status: 'queued', reason: 'due' };
  }

  return {
    unknownZones,
    /** Over which channels somebody is told, and when. Nothing is kept of a channel that nobody has said anything about. */
    tellingOf(person: Recipient, overrides: readonly Preference[]): Telling {
      const ways = (notice.channels ?? channels).flatMap((channel) => wayOf(channel, person, overrides) ?? []);
      const inbox = ways.find(({ channel }) => channel === 'in_app');
      return { language: languageOf(notice.i18n, person.locale), inboxAt: inbox?.sentAt ?? null, ways };
    },
  };
}

/** The language of a locale, where there is a text in it; null for the texts of the notice itself. */
function languageOf(i18n: Told['i18n'], locale: string): string | null {
  const language = locale.split(/[-_]/)[0]!.toLowerCase();
  return Object.hasOwn(i18n, language) ? language : null;
}

/** What a notification says in its language: what is not there in it, in that of the notice. */
export function textsIn(language: string | null, { title, body, i18n }: Written): Texts {
  const own = language !== null && Object.hasOwn(i18n, language) ? i18n[language]! : {};
  return { title: own.title ?? title, body: own.body ?? body };
}
