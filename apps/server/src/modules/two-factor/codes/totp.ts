import { Secret, TOTP } from 'otpauth';
import { toDataURL } from 'qrcode';

import { newBytes } from '#core/base/crypto/secrets';

/** Parameters that every authenticator app supports (RFC 6238): SHA-1, six digits, thirty seconds. */
const form = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** One step of clock difference and typing time is accepted. */
const window = 1;
const seedBytes = 20;

/** A new seed of 160 bits, in Base32. */
export function newSeed(): string {
  return toSecret(newBytes(seedBytes)).base32;
}

function toSecret(bytes: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer });
}

/** The URI with the seed for an authenticator app, and its QR code. */
export async function presentSeed(seed: string, email: string): Promise<{ uri: string; dataUrl: string }> {
  const uri = new TOTP({ ...form, issuer: 'Atrium', label: email, secret: Secret.fromBase32(seed) }).toString();
  return { uri, dataUrl: await toDataURL(uri, { type: 'image/png' }) };
}

/** The time step of the code; undefined if the code matches no step near the given time. */
export function stepOf(seed: string, code: string, at: Date): number | undefined {
  // The library fails for six characters that are more than six bytes.
  if (!/^\d{6}$/.test(code)) return undefined;
  const timestamp = at.getTime();
  const delta = TOTP.validate({ ...form, token: code, secret: Secret.fromBase32(seed), timestamp, window });
  return delta === null ? undefined : TOTP.counter({ period: form.period, timestamp }) + delta;
}
