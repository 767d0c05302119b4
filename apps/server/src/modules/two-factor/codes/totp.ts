import { Secret, TOTP } from 'otpauth';
import { toDataURL } from 'qrcode';

import { newBytes } from '#core/crypto/secrets';

/** What every authenticator app understands (RFC 6238): SHA-1, six digits, thirty seconds. */
const form = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** A clock may be one step off, and typing takes its time. */
const window = 1;
const seedBytes = 20;

/** A fresh seed of 160 bits, in Base32. */
export function newSeed(): string {
  return toSecret(newBytes(seedBytes)).base32;
}

function toSecret(bytes: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer });
}

/** The address that an authenticator app takes the seed from, and the same as a picture to scan. */
export async function presentSeed(seed: string, email: string): Promise<{ uri: string; dataUrl: string }> {
  const uri = new TOTP({ ...form, issuer: 'Atrium', label: email, secret: Secret.fromBase32(seed) }).toString();
  return { uri, dataUrl: await toDataURL(uri, { type: 'image/png' }) };
}

/** The time step that the code is right for; undefined when it is for none near the given time. */
export function stepOf(seed: string, code: string, at: Date): number | undefined {
  // The library breaks on six characters that are more than six bytes.
  if (!/^\d{6}$/.test(code)) return undefined;
  const timestamp = at.getTime();
  const delta = TOTP.validate({ ...form, token: code, secret: Secret.fromBase32(seed), timestamp, window });
  return delta === null ? undefined : TOTP.counter({ period: form.period, timestamp }) + delta;
}
