import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/base/schemas';
import { NotificationData } from '#modules/notifications/notifications.schemas';

export const ListInboxQuery = Type.Object({
  ...paging,
  unread: Type.Optional(Type.Boolean({ description: 'true: unread notifications only; false: read ones only.' })),
  category: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 120,
      description: 'Category, or `news.*` for all categories below `news`.',
    }),
  ),
});
export type ListInboxQuery = Static<typeof ListInboxQuery>;

const Notification = closed(
  {
    id: Uuid,
    category: Type.String(),
    title: Type.String({ description: 'Title in the language of the recipient, if it was sent in that language.' }),
    body: Type.String({ description: 'Text in the language of the recipient, if it was sent in that language.' }),
    link: nullable(Type.String(), { description: 'HTTPS address or path to open; null if none was sent.' }),
    data: NotificationData,
    isCritical: Type.Boolean(),
    createdAt: Timestamp,
    readAt: nullable(Timestamp, { description: 'Time of reading (RFC 3339, UTC); null if unread.' }),
  },
  { title: 'Notification' },
);
export const NotificationAnswer = dataOf(Notification);
export const NotificationPage = pageOf(Notification);
export const UnreadCount = dataOf(closed({ unread: Type.Integer({ description: 'Number of unread notifications.' }) }));

export const ReadAllBody = nullable(
  closed({
    before: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'createdAt of the newest notification that the user saw; later ones stay unread. Default: now.',
      }),
    ),
  }),
);
export type ReadAllBody = Static<typeof ReadAllBody>;
export const ReadAllAnswer = dataOf(
  closed({ read: Type.Integer({ description: 'Number of notifications that this request marked as read.' }) }),
);
