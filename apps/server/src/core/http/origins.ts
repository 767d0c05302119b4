import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Lets pages of these origins call from browsers, and no others. */
export async function allowOrigins(server: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await server.register(cors, {
    origin: [...origins],
    credentials: false,
    maxAge: 600,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    // Otherwise the plugin answers an OPTIONS request that is not a preflight with a text of its own.
    strictPreflight: false,
    allowedHeaders: [
      'authorization',
      'content-type',
      'x-api-key',
      'x-device-fingerprint',
      'x-tenant-id',
      'idempotency-key',
      'x-mcp-toolsets',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'accept-language',
      'if-none-match',
      'if-range',
      'range',
    ],
    exposedHeaders: [
      'x-request-id',
      'x-total-capped',
      'idempotency-replayed',
      'x-previous-key-valid-until',
      'retry-after',
      'accept-ranges',
      'content-disposition',
      'content-range',
      'etag',
    ],
  });
}
