import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, listOf, nullable, pageOf, paging } from '#core/http/schemas';
import {
  channels,
  deliveryReasons,
  deliveryStatuses,
  layers,
  type DeliveryReason,
} from '#modules/notifications/notifications.types';

const reasons = Object.keys(deliveryReasons) as DeliveryReason[];

const Delivery = closed(
  {
    id: Uuid,
    noticeId: Uuid,
    notificationId: Uuid,
    userId: Uuid,
    category: Type.String(),
    isCritical: Type.Boolean(),
    channel: Type.Enum([...channels]),
    status: Type.Enum([...deliveryStatuses]),
    reason: Type.Enum(reasons),
    because: Type.String({ description: 'The reason in a sentence, for people.' }),
    layer: Type.Enum([...layers], { description: 'Which preferences decided.' }),
    preferenceId: nullable(Uuid),
    dueAt: Timestamp,
    attempts: Type.Integer(),
    interruptions: Type.Integer({
      description: 'Attempts whose end nobody saw: each may have reached the person all the same.',
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    sentAt: nullable(Timestamp),
  },
  { title: 'NotificationDelivery' },
);
export const DeliveryPage = pageOf(Delivery);
export const DeliveryList = listOf(Delivery);

export const ListDeliveriesQuery = Type.Object({
  ...paging,
  noticeId: Type.Optional(Uuid),
  userId: Type.Optional(Uuid),
  channel: Type.Optional(Type.Enum([...channels])),
  status: Type.Optional(Type.Enum([...deliveryStatuses])),
});
export type ListDeliveriesQuery = Static<typeof ListDeliveriesQuery>;
