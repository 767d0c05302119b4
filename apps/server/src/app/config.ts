import { Ajv } from 'ajv';
import { parseArgs } from 'node:util';
import Type, { type Static } from 'typebox';

import { isAddressRange } from '#core/base/net/ranges';
import { formats, isEmail, isOrigin } from '#core/http/formats';

const seconds = (defaultValue: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: defaultValue, minimum, maximum, description });
const gibibyte = 1024 ** 3;
const byteCount = (defaultValue: number, description: string) =>
  Type.Integer({ default: defaultValue, minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
const optionalText = (description: string, format?: string) =>
  Type.Optional(Type.String({ minLength: 1, description, ...(format === undefined ? {} : { format }) }));

/** Every setting of the service. Each is an environment variable of the same name. */
export const ConfigSchema = Type.Object({
  HOST: Type.String({
    default: '127.0.0.1',
    minLength: 1,
    description: 'Address to listen on; `0.0.0.0` for all addresses.',
  }),
  PORT: Type.Integer({
    default: 8080,
    minimum: 0,
    maximum: 65_535,
    description: 'Port to listen on; 0 for any free port.',
  }),
  WORKERS: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 64,
    description:
      'Number of worker processes; above 1 another process supervises them. Also available as `--workers N`.',
  }),
  PUBLIC_URL: optionalText(
    'Address that clients use; base of links in mails, and issuer of tokens. Default: `http://HOST:PORT`.',
    'web-uri',
  ),
  DATA_DIR: Type.String({
    default: './data',
    minLength: 1,
    description:
      'Folder of the embedded database, of generated secrets and, without S3_BUCKET, of the files of tenants.',
  }),
  DATABASE_URL: optionalText(
    'External PostgreSQL, 15 or newer: `postgres://user:password@host/database`. Default: embedded PostgreSQL.',
    'postgres-url',
  ),
  DATABASE_DIRECT_URL: optionalText(
    'Direct address of the same database behind a transaction pooler, for migrations, LISTEN and the task queue.',
    'postgres-url',
  ),
  DATABASE_PREPARED_STATEMENTS: Type.Enum(['on', 'off'], {
    default: 'on',
    description:
      'Whether named prepared statements are used; `off` for poolers that lose them (PgBouncer before 1.21).',
  }),
  SYSTEM_ADMIN_EMAIL: Type.String({
    default: 'admin@atrium.local',
    format: 'email',
    description: 'E-mail address of the system administrator; every start creates or restores this administrator.',
  }),
  SYSTEM_ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 256,
      format: 'password',
      description: 'Password of the system administrator if the account is new. Default: generated and printed once.',
    }),
  ),
  ENCRYPTION_KEY: optionalText(
    'Key that encrypts secrets at rest: 32 random bytes in base64 or hex. Required with DATABASE_URL; otherwise generated in DATA_DIR.',
    'key',
  ),
  ENCRYPTION_KEY_PREVIOUS: optionalText(
    'Previous key, during a rotation. The first start with both keys wraps the installation key with the new one.',
    'key',
  ),
  SMTP_URL: optionalText(
    'Mail server: `smtp://user:password@host:587`. Default: mail stays in the outbox (`GET /api/v1/system/mail-outbox`).',
    'smtp-url',
  ),
  MAIL_FROM: Type.String({ default: 'Atrium <no-reply@atrium.local>', minLength: 3, description: 'Sender of mail.' }),
  TRUSTED_PROXIES: Type.String({
    default: '',
    format: 'cidr-list',
    description: 'Comma-separated addresses or CIDR ranges of proxies whose X-Forwarded-For header is trusted.',
  }),
  OUTBOUND_ALLOWED_CIDRS: Type.String({
    default: '',
    format: 'cidr-list',
    description:
      'Comma-separated private addresses or CIDR ranges that connectors, identity providers and push services may use. Browsers of members choose the push services, so list only addresses that members may reach.',
  }),
  CORS_ORIGINS: Type.String({
    default: '',
    format: 'origin-list',
    description: 'Comma-separated exact origins of browser applications, such as `https://app.example.com`.',
  }),
  HOSTED_BACKEND_URL: optionalText(
    'Origin that health shows as `hostedBackendUrl`. Default: origin of PUBLIC_URL.',
    'web-uri',
  ),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Minimum level of log lines that are written.',
  }),
  ENVIRONMENT: Type.String({
    default: 'production',
    pattern: '^[a-z0-9-]{1,40}$',
    description: 'Name of the environment in health and info.',
  }),
  BODY_LIMIT_BYTES: Type.Integer({
    default: 1_048_576,
    minimum: 1024,
    maximum: 16_777_216,
    description: 'Maximum size of a request body in bytes.',
  }),
  MAX_CONNECTIONS: Type.Integer({
    default: 2000,
    minimum: 10,
    maximum: 1_000_000,
    description:
      'Maximum client connections of one process; further ones are closed at once. Each takes a file descriptor.',
  }),
  MAX_CONNECTIONS_PER_ADDRESS: Type.Integer({
    default: 256,
    minimum: 1,
    maximum: 1_000_000,
    description:
      'Maximum client connections of one address (IPv6: one /64) in all workers together. TRUSTED_PROXIES and loopback have no such limit.',
  }),
  FILE_LIMIT_BYTES: byteCount(5 * gibibyte, 'Maximum size of one file in bytes.'),
  STORAGE_DEFAULT_QUOTA_BYTES: byteCount(5 * gibibyte, 'Storage quota in bytes of a tenant without its own quota.'),
  S3_BUCKET: optionalText(
    'Bucket of an S3-compatible service that stores the files. Requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY. Default: folder in DATA_DIR.',
  ),
  S3_ENDPOINT: optionalText('Address of the S3-compatible service: `https://s3.example.com`. Default: AWS.', 'web-uri'),
  S3_REGION: Type.String({
    default: 'us-east-1',
    minLength: 1,
    description: 'Region in the signature of S3 requests.',
  }),
  S3_ACCESS_KEY_ID: optionalText('Access key of the S3-compatible service.'),
  S3_SECRET_ACCESS_KEY: optionalText('Secret of the access key.', 'password'),
  S3_FORCE_PATH_STYLE: Type.Enum(['on', 'off'], {
    default: 'off',
    description: 'Whether the bucket is part of the path (`https://host/bucket`) instead of the host name.',
  }),
  REDIS_URL: optionalText(
    'Redis that counts requests for all processes together: `redis://user:password@host:6379/0`. Default: each process counts separately.',
    'redis-url',
  ),
  REDIS_PREFIX: Type.String({
    default: 'atrium:',
    pattern: '^[\\w:.-]{1,64}$',
    description: 'Prefix of keys in Redis, for installations that share one Redis.',
  }),
  DISPATCHER_SECRET: Type.Optional(
    Type.String({
      minLength: 16,
      description:
        'Secret of an external scheduler that runs the dispatcher, at least 16 characters: `openssl rand -base64 32`. Default: no external scheduler; the processes run scheduled jobs themselves.',
    }),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalText(
    'Receiver of OpenTelemetry traces over HTTP: `http://collector:4318`. Default: no traces.',
    'http-url',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optionalText(
    'Comma-separated headers for the receiver of traces: `name=value`, with percent-encoded values.',
    'header-list',
  ),
  OTEL_SERVICE_NAME: Type.String({
    default: 'atrium',
    minLength: 1,
    maxLength: 100,
    description: 'Service name in traces.',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    default: 1,
    minimum: 0,
    maximum: 1,
    description: 'Share of traces that are sent, from 0 to 1. Traces that a caller samples are always sent.',
  }),
  METRICS_TOKEN: Type.Optional(
    Type.String({
      pattern: '^[\\w.~+/=-]{16,256}$',
      description:
        'Bearer token that may read `GET /api/v1/system/metrics`, 16 to 256 characters. Default: system administrators only.',
    }),
  ),
  REALTIME_URL: optionalText(
    'Realtime messaging server with the HTTP API of Centrifugo: `https://realtime.example.com`. Health shows its state. Requires REALTIME_API_KEY.',
    'http-url',
  ),
  REALTIME_API_KEY: optionalText('Key for the HTTP API of the realtime messaging server.'),
  ACCESS_TOKEN_SECONDS: seconds(900, 60, 3600, 'Lifetime of an access token in seconds.'),
  REFRESH_GRACE_SECONDS: seconds(
    10,
    0,
    60,
    'Time in seconds in which a used refresh token gets the same successor again, while that successor is unused. Any other reuse ends the session. 0: each token works once.',
  ),
  TENANT_DELETION_GRACE_DAYS: Type.Integer({
    default: 30,
    minimum: 0,
    maximum: 365,
    description: 'Days in which a deleted tenant can be restored.',
  }),
  PASSWORD_MEMORY_KIB: Type.Integer({
    default: 19_456,
    minimum: 19_456,
    maximum: 1_048_576,
    description: 'Memory of argon2id per hash in KiB.',
  }),
  PASSWORD_PASSES: Type.Integer({ default: 2, minimum: 2, maximum: 10, description: 'Number of argon2id passes.' }),
});

export type Config = Static<typeof ConfigSchema>;

/** An invalid setting stops the start; the message is one line that names the variable. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const listOf = (check: (item: string) => boolean) => (text: string) => splitList(text).every(check);

const ajv = new Ajv({
  coerceTypes: true,
  useDefaults: true,
  strict: true,
  // TypeBox generated the schema, so it needs no validation (as for request schemas).
  validateSchema: false,
  formats: {
    ...formats,
    'cidr-list': listOf(isAddressRange),
    'origin-list': listOf(isOrigin),
    email: isEmail,
    'postgres-url': (text: string) => hasProtocol(text, ['postgres:', 'postgresql:']),
    'http-url': (text: string) => hasProtocol(text, ['http:', 'https:']),
    'smtp-url': (text: string) => hasProtocol(text, ['smtp:', 'smtps:']),
    'redis-url': (text: string) => hasProtocol(text, ['redis:', 'rediss:']),
    'header-list': (text: string) => parseHeaders(text) !== undefined,
    key: (text: string) => parseKey(text) !== undefined,
  },
});
const validate = ajv.compile<Config>(JSON.parse(JSON.stringify(ConfigSchema)));

/** @throws ConfigError that names the first variable or option with an invalid value. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  args: readonly string[] = [],
): Config {
  const names = Object.keys(ConfigSchema.properties);
  const given: unknown = {
    ...Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : []))),
    ...readOptions(args),
  };
  if (validate(given)) return given;
  const [error] = validate.errors!;
  const name = error!.instancePath.slice(1);
  const { description } = ConfigSchema.properties[name as keyof Config] as unknown as { description: string };
  throw new ConfigError(`${name} ${error!.message}. ${description}`);
}

/** The command line overrides the environment. */
function readOptions(args: readonly string[]): { WORKERS?: string } {
  try {
    const { values } = parseArgs({ args: [...args], options: { workers: { type: 'string' } } });
    return values.workers === undefined ? {} : { WORKERS: values.workers };
  } catch (error) {
    throw new ConfigError(`${(error as Error).message.split('\n')[0]} The only option is --workers N.`);
  }
}

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** `a=1,b=2` with percent-encoded values (OpenTelemetry, "OTLP exporter configuration"); undefined for any other text. */
export function parseHeaders(text: string): Record<string, string> | undefined {
  try {
    const entries = splitList(text).map((item) => {
      const [, name, value] = /^([\w-]+)\s*=\s*(.*)$/.exec(item)!;
      return [name!, decodeURIComponent(value!)] as const;
    });
    return Object.fromEntries(new Headers(Object.fromEntries(entries)));
  } catch {
    return undefined;
  }
}

/** 32 bytes from hex or base64; undefined for any other text, or if it is obviously not random. */
export function parseKey(text: string): Buffer | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  return bytes.length === 32 && new Set(bytes).size > 8 ? bytes : undefined;
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

/** Address that clients use: the configured one, or the address that the service listens on. */
export function publicUrlOf({ PUBLIC_URL, HOST, PORT }: Config): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/$/, '');
  const isWildcard = HOST === '0.0.0.0' || HOST === '::';
  const host = isWildcard ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${PORT}`;
}
