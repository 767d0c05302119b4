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
} from '#core/base/schemas';
import { NotificationData } from '#modules/notifications/notifications.schemas';
import { channels, deliveryStatuses, noticeStatuses, type Channel } from '#modules/notifications/notifications.types';

const Channels = Type.Array(Type.Enum([...channels]), { minItems: 1, maxItems: channels.length, uniqueItems: true });
const Category = Type.String({
  minLength: 1,
  maxLength: 120,
  format: 'line',
  pattern: '^[^*]+$',
  description: 'Category, such as `news` or `news.office`; preferences apply by category.',
});
const Link = Type.Union([
  Type.String({ format: 'secure-uri', maxLength: 2000 }),
  Type.String({ format: 'app-route', pattern: '^/', maxLength: 2000 }),
]);
const linkDescription = 'HTTPS address, or path within the application, that opens on a click; null for none.';
const everyoneDescription = 'All active users of the tenant; not combined with userIds or groupIds.';
const i18nDescription =
  'Title and body by language (ISO 639-1); recipients with another language get `title` and `body`.';
const Texts = closed({
  title: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Title in this language.' })),
  body: Type.Optional(Type.String({ maxLength: 10_000, description: 'Text in this language.' })),
});
const ids = (maxItems: number, description: string) => Type.Optional(Type.Array(Uuid, { maxItems, description }));
const Audience = closed(
  {
    everyone: Type.Optional(Type.Literal(true, { description: everyoneDescription })),
    userIds: ids(1000, 'Recipients, by identifier.'),
    groupIds: ids(100, 'Groups whose members are recipients, by identifier.'),
  },
  { minProperties: 1, description: 'Either all users (`everyone`), or users, members of groups, or both.' },
);

export const CreateNoticeBody = closed({
  key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Client-chosen key; a repeated request with the same key and content sends nothing again.',
    }),
  ),
  category: Category,
  title: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'Title.' }),
  body: Type.String({ maxLength: 10_000, description: 'Text; it may be empty.' }),
  i18n: Type.Optional(
    Type.Record(Language, Texts, {
      additionalProperties: false,
      maxProperties: 200,
      ...jsonOfAtMost(65_536),
      description: `${i18nDescription} At most 65536 bytes as JSON.`,
    }),
  ),
  link: Type.Optional(Type.Union([Link, Type.Null()], { description: linkDescription })),
  data: Type.Optional(freeObjectOfAtMost(8192, { description: 'Data for programs; at most 8192 bytes as JSON.' })),
  isCritical: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether quiet hours do not delay it, unless they say so.' }),
  ),
  channels: Type.Optional(Channels),
  audience: Audience,
});
export type CreateNoticeBody = Static<typeof CreateNoticeBody>;

const summary = {
  id: Uuid,
  key: nullable(Type.String(), { description: 'Key that the sender chose; null if none.' }),
  category: Type.String(),
  title: Type.String({ description: 'Title.' }),
  isCritical: Type.Boolean(),
  channels: nullable(Type.Array(Type.Enum([...channels])), {
    description: 'Channels that may carry it; null for all.',
  }),
  status: Type.Enum([...noticeStatuses], {
    description: '`queued`: fan-out is under way; `done`: all recipients have a notification.',
  }),
  createdBy: nullable(Uuid),
  recipients: Type.Integer({ description: 'Number of users for whom the fan-out has created a notification.' }),
  createdAt: Timestamp,
  completedAt: nullable(Timestamp),
};
const notice = {
  ...summary,
  body: Type.String({ description: 'Text.' }),
  i18n: Type.Record(Language, Texts, { additionalProperties: false, description: i18nDescription }),
  link: nullable(Type.String(), { description: linkDescription }),
  data: NotificationData,
  audience: closed(
    {
      everyone: Type.Optional(Type.Literal(true, { description: everyoneDescription })),
      userIds: Type.Optional(Type.Array(Uuid)),
      groupIds: Type.Optional(Type.Array(Uuid)),
    },
    { description: 'Recipients as the sender named them.' },
  ),
};
export const NoticeAnswer = dataOf(closed(notice, { title: 'Notice' }));
export const NoticePage = pageOf(closed(summary, { title: 'NoticeSummary' }));

const countOf = (status: string) => Type.Integer({ description: `Number of deliveries with status \`${status}\`.` });
const byStatus = (description: string) =>
  closed(Object.fromEntries(deliveryStatuses.map((status) => [status, countOf(status)])), { description });
export const NoticeReport = dataOf(
  closed({
    ...notice,
    deliveries: closed(
      Object.fromEntries(
        channels.map((channel) => [channel, byStatus(`Deliveries over \`${channel}\`, by status.`)]),
      ) as Record<Channel, ReturnType<typeof byStatus>>,
      { description: 'Current number of deliveries, by channel and status.' },
    ),
  }),
);

export const ListNoticesQuery = Type.Object({
  ...paging,
  status: Type.Optional(Type.Enum([...noticeStatuses], { description: 'Status of the notification.' })),
});
export type ListNoticesQuery = Static<typeof ListNoticesQuery>;
