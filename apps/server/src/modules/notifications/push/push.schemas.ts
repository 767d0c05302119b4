import Type, { type Static } from 'typebox';

import { IdParams, Timestamp, Uuid, closed, dataOf, nullable } from '#core/http/schemas';

export { IdParams };

const Base64Url = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+={0,2}$', maxLength });

/** The last millisecond of the year 9999. */
const latest = 253_402_300_799_999;

export const SubscribePushBody = closed(
  {
    endpoint: Type.String({ pattern: '^https://', maxLength: 2048 }),
    keys: closed({ p256dh: Base64Url(100), auth: Base64Url(50) }),
    expirationTime: Type.Optional(
      nullable(Type.Number({ minimum: 0, maximum: latest, description: 'In Unix milliseconds.' })),
    ),
  },
  { description: 'As PushSubscription.toJSON() gives it.' },
);
export type SubscribePushBody = Static<typeof SubscribePushBody>;

export const PushKeyAnswer = dataOf(
  closed({ publicKey: Type.String({ description: 'The applicationServerKey for pushManager.subscribe().' }) }),
);

const PushSubscription = closed({
  id: Uuid,
  origin: Type.String({ description: 'Of the push service; the endpoint itself is never shown.' }),
  userAgent: nullable(Type.String()),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
});

export const PushSubscriptionAnswer = dataOf(PushSubscription);
export const PushSubscriptionList = closed({ data: Type.Array(PushSubscription) });
