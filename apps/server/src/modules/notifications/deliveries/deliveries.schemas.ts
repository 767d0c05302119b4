import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, listOf, nullable, pageOf, paging } from '#core/base/schemas';
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
    notificationId: Type.String({
      format: 'uuid',
      description: 'Notification in the inbox of the recipient, by identifier.',
    }),
    userId: Type.String({ format: 'uuid', description: 'Recipient, by identifier.' }),
    category: Type.String(),
    isCritical: Type.Boolean(),
    channel: Type.Enum([...channels]),
    status: Type.Enum([...deliveryStatuses], { description: 'State; `suppressed`: will not be sent.' }),
    reason: Type.Enum(reasons, { description: 'Why it has this status.' }),
    because: Type.String({ description: 'The reason as text for people.' }),
    layer: Type.Enum([...layers], { description: 'Layer of preferences that decided.' }),
    preferenceId: nullable(Uuid, { description: 'Preference that decided; null for the built-in default.' }),
    dueAt: Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Earliest time of the next attempt (RFC 3339, UTC).',
    }),
    attempts: Type.Integer({ description: 'Number of attempts so far, including one under way.' }),
    interruptions: Type.Integer({
      description: 'Number of attempts with an unknown outcome; each may have reached the recipient.',
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    sentAt: nullable(Timestamp, {
      description: 'Time at which the channel accepted it (RFC 3339, UTC); null until then.',
    }),
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
  status: Type.Optional(Type.Enum([...deliveryStatuses], { description: 'Status of the delivery.' })),
});
export type ListDeliveriesQuery = Static<typeof ListDeliveriesQuery>;
