import type { NoticeRow, PersonRow } from '#modules/notifications/notifications.tables';

/** As much of somebody as it takes to decide how they are told. */
export type Recipient = Pick<PersonRow, 'id' | 'locale' | 'timezone'>;

/** As much of a notice. */
export type Told = Pick<NoticeRow, 'category' | 'channels' | 'is_critical' | 'i18n'>;

/** What a notice says. */
export type Written = Pick<NoticeRow, 'title' | 'body' | 'i18n'>;
