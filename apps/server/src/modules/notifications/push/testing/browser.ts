import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

export type TestBrowser = {
  /** As `PushSubscription.toJSON()` gives it. */
  subscription: { endpoint: string; expirationTime: null; keys: { p256dh: string; auth: string } };
  /** What the service worker gets of a message (RFC 8291, RFC 8188). @throws Error unless it is for this browser */
  read(message: Buffer): unknown;
};

/** A browser that subscribed to a push service at the origin. */
export function newBrowser(origin = 'https://push.example.com'): TestBrowser {
  const own = createECDH('prime256v1');
  const ownKey = own.generateKeys();
  const secret = randomBytes(16);
  const endpoint = `${origin}/send/${randomBytes(24).toString('base64url')}`;
  const keys = { p256dh: ownKey.toString('base64url'), auth: secret.toString('base64url') };
  return {
    subscription: { endpoint, expirationTime: null, keys },
    read(message) {
      const salt = message.subarray(0, 16);
      const keyLength = message[20]!;
      const senderKey = message.subarray(21, 21 + keyLength);
      const sealed = message.subarray(21 + keyLength);
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), ownKey, senderKey]);
      const shared = Buffer.from(hkdfSync('sha256', own.computeSecret(senderKey), secret, info, 32));
      const derived = (what: string, length: number) =>
        Buffer.from(hkdfSync('sha256', shared, salt, `Content-Encoding: ${what}\0`, length));
      const decipher = createDecipheriv('aes-128-gcm', derived('aes128gcm', 16), derived('nonce', 12));
      decipher.setAuthTag(sealed.subarray(-16));
      const record = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      // One record is the last one, which a two ends before its padding.
      const end = record.lastIndexOf(2);
      if (record.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('not the last record');
      return JSON.parse(record.subarray(0, end).toString('utf8'));
    },
  };
}
