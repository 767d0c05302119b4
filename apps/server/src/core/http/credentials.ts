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

function oneValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
