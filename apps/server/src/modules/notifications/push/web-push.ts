import webPush from 'web-push';

/** The keys of the installation (VAPID, RFC 8292), in base64url. */
export type PushKeys = { publicKey: string; privateKey: string };

/** A browser, as `PushSubscription.toJSON()` describes it. */
export type Browser = { endpoint: string; keys: { p256dh: string; auth: string } };

export type PushRequest = { headers: Record<string, string>; body: Uint8Array };

const encoding = 'aes128gcm';

export function newPushKeys(): PushKeys {
  return webPush.generateVAPIDKeys();
}

/** Whether the keys are valid: a point of the curve, and a secret that is long enough. */
export function isUsable({ keys }: Pick<Browser, 'keys'>): boolean {
  try {
    encrypt(keys, '');
    return true;
  } catch {
    return false;
  }
}

/**
 * The request for a push service (RFC 8030), encrypted for the browser (RFC 8291). The library does not send, because all
 * outbound calls use core/platform/outbound.
 * @param contact contact for the operator of the push service, `https:` or `mailto:`
 */
export function toRequest(
  { endpoint, keys }: Browser,
  payload: string,
  { contact, pushKeys }: { contact: string; pushKeys: PushKeys },
): PushRequest {
  const { origin } = new URL(endpoint);
  const { publicKey, privateKey } = pushKeys;
  const { Authorization: authorization } = webPush.getVapidHeaders(origin, contact, publicKey, privateKey, encoding);
  const headers = { authorization, 'content-type': 'application/octet-stream', 'content-encoding': encoding };
  return { headers, body: encrypt(keys, payload) };
}

function encrypt({ p256dh, auth }: Browser['keys'], payload: string): Buffer {
  return webPush.encrypt(p256dh, auth, payload, encoding).cipherText;
}
