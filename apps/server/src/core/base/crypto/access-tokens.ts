import { SignJWT, errors, exportJWK, importJWK, jwtVerify, type JWK } from 'jose';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

import { InvalidToken, TokenExpired } from '#core/base/errors/common-errors';

/** The claims of an access token: identifiers only, never permissions (RFC 9068 with `tid` for the tenant and `sid` for the session). */
export type AccessTokenClaims = { accountId: string; tenantId: string; sessionId: string; userId: string };

/** Issues and checks access tokens with the installation's own keys. */
export type AccessTokens = {
  issue(claims: AccessTokenClaims): Promise<{ accessToken: string; expiresIn: number }>;
  /** @throws TokenExpired, InvalidToken */
  verify(token: string, options?: VerifyOptions): Promise<AccessTokenClaims & { expiresAt: number }>;
  /** The public keys as a JWK Set (RFC 7517 section 5). */
  publicKeys(): Promise<{ keys: JWK[] }>;
};

/** `acceptExpired` is for ending what the token once opened, and for nothing else. */
export type VerifyOptions = { acceptExpired?: boolean };

export type SigningKey = { id: string; privateKey: KeyObject; publicJwk: JWK };

const algorithm = 'EdDSA';
const audience = 'atrium';
const clockToleranceSeconds = 5;

/** A fresh Ed25519 pair (RFC 8037); the private half as PKCS#8 text, to be stored encrypted. */
export async function generateSigningKey(id: string): Promise<{ id: string; privateKeyPem: string; publicJwk: JWK }> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const publicJwk = { ...(await exportJWK(publicKey)), kid: id, alg: algorithm, use: 'sig' };
  return { id, privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }), publicJwk };
}

export function readSigningKey(id: string, privateKeyPem: string, publicJwk: JWK): SigningKey {
  return { id, privateKey: createPrivateKey(privateKeyPem), publicJwk };
}

export function signAccessToken(
  key: SigningKey,
  claims: AccessTokenClaims,
  options: { issuer: string; lifetimeSeconds: number; now: Date },
): Promise<string> {
  const issuedAt = Math.floor(options.now.getTime() / 1000);
  return new SignJWT({ tid: claims.tenantId, sid: claims.sessionId, acc: claims.accountId })
    .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: key.id })
    .setIssuer(options.issuer)
    .setAudience(audience)
    .setSubject(claims.userId)
    .setIssuedAt(issuedAt)
    .setNotBefore(issuedAt)
    .setExpirationTime(issuedAt + options.lifetimeSeconds)
    .sign(key.privateKey);
}

/**
 * @param findKey the public key of a `kid`, from our own list only; no key is ever fetched because a token says so.
 * @throws TokenExpired, InvalidToken
 */
export async function verifyAccessToken(
  token: string,
  findKey: (id: string) => Promise<JWK | undefined>,
  options: VerifyOptions & { issuer: string; now: Date },
): Promise<AccessTokenClaims & { expiresAt: number }> {
  if (!tokenForm.test(token)) throw InvalidToken();
  try {
    const { payload } = await jwtVerify(
      token,
      async (header) => {
        const jwk = header.kid === undefined ? undefined : await findKey(header.kid);
        if (jwk === undefined) throw new errors.JWKSNoMatchingKey();
        return importJWK(jwk, algorithm);
      },
      {
        algorithms: [algorithm],
        typ: 'at+jwt',
        issuer: options.issuer,
        audience,
        clockTolerance: clockToleranceSeconds,
        currentDate: options.now,
        requiredClaims: ['sub', 'tid', 'sid', 'acc', 'exp', 'iat'],
      },
    );
    return readClaims(payload);
  } catch (error) {
    // Its end is what is looked at last: everything else about the token is right.
    if (error instanceof errors.JWTExpired) {
      if (options.acceptExpired === true) return readClaims(error.payload);
      throw TokenExpired();
    }
    if (error instanceof errors.JOSEError) throw InvalidToken();
    throw error;
  }
}

function readClaims(payload: Record<string, unknown>): AccessTokenClaims & { expiresAt: number } {
  const { sub, tid, sid, acc, exp } = payload;
  if (![sub, tid, sid, acc].every((claim) => typeof claim === 'string' && uuid.test(claim))) throw InvalidToken();
  return {
    userId: sub as string,
    tenantId: tid as string,
    sessionId: sid as string,
    accountId: acc as string,
    expiresAt: (exp as number) * 1000,
  };
}

// base64url lets 16 spellings of the last character mean the same 64 bytes of signature: only one is taken.
const tokenForm = /^[\w-]{1,1024}\.[\w-]{1,2048}\.[\w-]{85}[AQgw]$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
