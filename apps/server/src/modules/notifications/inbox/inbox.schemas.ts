import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/http/schemas';
import { NotificationData } from '#modules/notifications/notifications.schemas';

export const ListInboxQuery = Type.Object({
  ...paging,
  unread: Type.Optional(Type.Boolean({ description: 'true: those that are not read yet; false: those that are.' })),
  category: Type.Optional(
    Type.String({ minLength: 1, maxLength: 120, description: 'A category, or `news.*` for all below one.' }),
  ),
});
export type ListInboxQuery = Static<typeof ListInboxQuery>;

const Notification = closed(
  {
    id: Uuid,
    category: Type.String(),
    title: Type.String(),
    body: Type.String(),
    link: nullable(Type.String()),
    data: NotificationData,
    isCritical: Type.Boolean(),
    createdAt: Timestamp,
    readAt: nullable(Timestamp),
  },
  { title: 'Notification' },
);
export const NotificationAnswer = dataOf(Notification);
export const NotificationPage = pageOf(Notification);
export const UnreadCount = dataOf(closed({ unread: Type.Integer() }));

export const ReadAllBody = nullable(
  closed({
    before: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'createdAt of the newest that was seen: what came later stays unread.',
      }),
    ),
  }),
);
export type ReadAllBody = Static<typeof ReadAllBody>;
export const ReadAllAnswer = dataOf(
  closed({ read: Type.Integer({ description: 'Those that were not read before.' }) }),
);
