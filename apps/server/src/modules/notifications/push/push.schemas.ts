import Type, { type Static } from 'typebox';

import { IdParams, Timestamp, Uuid, closed, dataOf, nullable } from '#core/base/schemas';

export { IdParams };

const Base64Url = (maxLength: number, description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+={0,2}$', maxLength, description });

/** Last millisecond of the year 9999. */
const latest = 253_402_300_799_999;

export const SubscribePushBody = closed(
  {
    endpoint: Type.String({ pattern: '^https://', maxLength: 2048, description: 'Address at the push service.' }),
    keys: closed(
      {
        p256dh: Base64Url(100, 'Public key of the browser (P-256, base64url).'),
        auth: Base64Url(50, 'Authentication secret of the browser (base64url).'),
      },
      { description: 'Keys for the encryption of messages (RFC 8291).' },
    ),
    expirationTime: Type.Optional(
      nullable(Type.Number({ minimum: 0, maximum: latest }), {
        description: 'Expiry time in Unix milliseconds; null for none.',
      }),
    ),
  },
  { description: 'Result of PushSubscription.toJSON() in the browser.' },
);
export type SubscribePushBody = Static<typeof SubscribePushBody>;

export const PushKeyAnswer = dataOf(
  closed({
    publicKey: Type.String({ description: 'Value of applicationServerKey for pushManager.subscribe() (base64url).' }),
  }),
);

const PushSubscription = closed({
  id: Uuid,
  origin: Type.String({ description: 'Origin of the push service; the endpoint itself is never shown.' }),
  userAgent: nullable(Type.String()),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
});

export const PushSubscriptionAnswer = dataOf(PushSubscription);
export const PushSubscriptionList = closed({ data: Type.Array(PushSubscription) });
