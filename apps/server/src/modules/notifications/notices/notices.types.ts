import type { NoticeRow, PersonRow } from '#modules/notifications/notifications.tables';

/** The properties of a user that the fan-out needs. */
export type Recipient = Pick<PersonRow, 'id' | 'locale' | 'timezone'>;

/** The properties of a notice that the fan-out needs. */
export type Told = Pick<NoticeRow, 'category' | 'channels' | 'is_critical' | 'i18n'>;

/** The texts of a notice. */
export type Written = Pick<NoticeRow, 'title' | 'body' | 'i18n'>;
