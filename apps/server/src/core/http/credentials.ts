import type { FastifyRequest } from 'fastify';

/** What a request presents of itself, each exactly as it was sent. */
export type Credentials = {
  authorization: string | undefined;
  apiKey: string | undefined;
  /** `X-Tenant-Id`: the tenant that a system administrator acts on. */
  tenantId: string | undefined;
  /** `X-Device-Fingerprint`, which a key may be bound to. */
  deviceFingerprint: string | undefined;
  /** The route ends sessions: an access token that has ended still says which. */
  acceptsExpired?: boolean;
};

export function credentialsOf({ headers }: FastifyRequest): Credentials {
  return {
    authorization: headers.authorization,
    apiKey: oneValue(headers['x-api-key']),
    tenantId: oneValue(headers['x-tenant-id']),
    deviceFingerprint: oneValue(headers['x-device-fingerprint']),
  };
}

/** The access token of an Authorization header; it is also the name of its principal in the cache. */
export function bearerToken(authorization: string): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
}

/** The name of a key's principal in the cache: with its space, it never equals a bearer token. */
export function cachedKeyName(apiKey: string): string {
  return `X-API-Key ${apiKey}`;
}

/** The name under which the cache knows the principal of a request; undefined where it presents no credential, or two. */
export function cachedNameOf({ headers }: FastifyRequest): string | undefined {
  const { authorization } = headers;
  const apiKey = oneValue(headers['x-api-key']);
  if (apiKey === undefined) return authorization === undefined ? undefined : bearerToken(authorization);
  return authorization === undefined ? cachedKeyName(apiKey) : undefined;
}

function oneValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
