import Type, { type Static } from 'typebox';

import {
  Language,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  jsonOfAtMost,
  nullable,
  pageOf,
  paging,
} from '#core/http/schemas';
import { NotificationData } from '#modules/notifications/notifications.schemas';
import { channels, deliveryStatuses, noticeStatuses, type Channel } from '#modules/notifications/notifications.types';

const Channels = Type.Array(Type.Enum([...channels]), { minItems: 1, maxItems: channels.length, uniqueItems: true });
const Category = Type.String({
  minLength: 1,
  maxLength: 120,
  format: 'line',
  pattern: '^[^*]+$',
  description: 'What it is about, such as `news` or `news.office`: preferences are by category.',
});
const Link = Type.Union([
  Type.String({ format: 'secure-uri', maxLength: 2000 }),
  Type.String({ pattern: '^/(?:[^/\\\\\\s]\\S*)?$', maxLength: 2000 }),
]);
const Texts = closed({
  title: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  body: Type.Optional(Type.String({ maxLength: 10_000 })),
});
const ids = (most: number) => Type.Optional(Type.Array(Uuid, { maxItems: most }));
const Audience = closed(
  { everyone: Type.Optional(Type.Literal(true)), userIds: ids(1000), groupIds: ids(100) },
  { minProperties: 1, description: 'Everybody, or some people, the members of some groups, or both of these.' },
);

export const CreateNoticeBody = closed({
  key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'What you call it: sent again with the same key and content, nobody is told twice.',
    }),
  ),
  category: Category,
  title: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  body: Type.String({ maxLength: 10_000 }),
  i18n: Type.Optional(
    Type.Record(Language, Texts, { additionalProperties: false, maxProperties: 200, ...jsonOfAtMost(65_536) }),
  ),
  link: Type.Optional(nullable(Link)),
  data: Type.Optional(freeObjectOfAtMost(8192)),
  isCritical: Type.Optional(Type.Boolean({ default: false, description: 'Goes out in quiet hours, too.' })),
  channels: Type.Optional(Channels),
  audience: Audience,
});
export type CreateNoticeBody = Static<typeof CreateNoticeBody>;

const summary = {
  id: Uuid,
  key: nullable(Type.String()),
  category: Type.String(),
  title: Type.String(),
  isCritical: Type.Boolean(),
  channels: nullable(Type.Array(Type.Enum([...channels]), { description: 'Null where it may take all.' })),
  status: Type.Enum([...noticeStatuses]),
  createdBy: nullable(Uuid),
  recipients: Type.Integer({ description: 'People who have a notification of it so far.' }),
  createdAt: Timestamp,
  completedAt: nullable(Timestamp),
};
const notice = {
  ...summary,
  body: Type.String(),
  i18n: Type.Record(Language, Texts, { additionalProperties: false }),
  link: nullable(Type.String()),
  data: NotificationData,
  audience: closed({
    everyone: Type.Optional(Type.Literal(true)),
    userIds: Type.Optional(Type.Array(Uuid)),
    groupIds: Type.Optional(Type.Array(Uuid)),
  }),
};
export const NoticeAnswer = dataOf(closed(notice, { title: 'Notice' }));
export const NoticePage = pageOf(closed(summary, { title: 'NoticeSummary' }));

const ByStatus = closed(Object.fromEntries(deliveryStatuses.map((status) => [status, Type.Integer()])));
export const NoticeReport = dataOf(
  closed({
    ...notice,
    deliveries: closed(
      Object.fromEntries(channels.map((channel) => [channel, ByStatus])) as Record<Channel, typeof ByStatus>,
      { description: 'How many at this moment, by channel and status.' },
    ),
  }),
);

export const ListNoticesQuery = Type.Object({ ...paging, status: Type.Optional(Type.Enum([...noticeStatuses])) });
export type ListNoticesQuery = Static<typeof ListNoticesQuery>;
