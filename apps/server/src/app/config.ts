import { parseArgs } from 'node:util';
import { Ajv } from 'ajv';
import Type, { type Static } from 'typebox';

import { formats, isEmail, isOrigin } from '#core/http/formats';
import { isAddressRange } from '#core/net/addresses';

const seconds = (defaultValue: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: defaultValue, minimum, maximum, description });
const gibibyte = 1024 ** 3;
const byteCount = (defaultValue: number, description: string) =>
  Type.Integer({ default: defaultValue, minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
const optionalText = (description: string, format?: string) =>
  Type.Optional(Type.String({ minLength: 1, description, ...(format === undefined ? {} : { format }) }));

/** Every setting of the service. Each is an environment variable of the same name. */
export const ConfigSchema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on. `0.0.0.0` for all.' }),
  PORT: Type.Integer({
    default: 8080,
    minimum: 0,
    maximum: 65_535,
    description: 'Port to listen on. 0 takes a free one.',
  }),
  WORKERS: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 64,
    description: 'Processes that serve; more than one are supervised by another. Also as `--workers N`.',
  }),
  PUBLIC_URL: optionalText(
    'How clients reach the service, for links in mails and as token issuer. Default: `http://HOST:PORT`.',
    'uri',
  ),
  DATA_DIR: Type.String({
    default: './data',
    minLength: 1,
    description: 'Embedded database, generated secrets, and the files of tenants where no S3_BUCKET is set.',
  }),
  DATABASE_URL: optionalText(
    'PostgreSQL 15 or newer instead of the embedded one: `postgres://user:password@host/database`.',
    'postgres-url',
  ),
  DATABASE_DIRECT_URL: optionalText(
    'The same database past a transaction pooler: migrations and LISTEN go here.',
    'postgres-url',
  ),
  DATABASE_PREPARED_STATEMENTS: Type.Enum(['on', 'off'], {
    default: 'on',
    description: '`off` for poolers that lose named statements (PgBouncer before 1.21).',
  }),
  SYSTEM_ADMIN_EMAIL: Type.String({
    default: 'admin@atrium.local',
    format: 'email',
    description: 'System administrator, made sure of at every start.',
  }),
  SYSTEM_ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 256,
      format: 'password',
      description: 'Password of that administrator where the account is new. Default: generated and printed once.',
    }),
  ),
  ENCRYPTION_KEY: optionalText(
    '32 random bytes in base64 or hex. Encrypts secrets at rest. Generated into DATA_DIR with the embedded database; required with DATABASE_URL.',
    'key',
  ),
  ENCRYPTION_KEY_PREVIOUS: optionalText(
    'The key before the current one, for the time of a rotation: the first start with both wraps the key of the installation anew.',
    'key',
  ),
  SMTP_URL: optionalText(
    'Mail server, `smtp://user:password@host:587`. Without it mail stays in the outbox: `GET /api/v1/system/mail-outbox`.',
    'smtp-url',
  ),
  MAIL_FROM: Type.String({ default: 'Atrium <no-reply@atrium.local>', minLength: 3, description: 'Sender of mails.' }),
  TRUSTED_PROXIES: Type.String({
    default: '',
    format: 'cidr-list',
    description: 'Comma-separated addresses or CIDR ranges whose X-Forwarded-For counts.',
  }),
  OUTBOUND_ALLOWED_CIDRS: Type.String({
    default: '',
    format: 'cidr-list',
    description:
      'Comma-separated private addresses or CIDR ranges that connectors, identity providers and push services may be at. The last of them are named by the browsers of members, so list only what members may have called.',
  }),
  CORS_ORIGINS: Type.String({
    default: '',
    format: 'origin-list',
    description: 'Comma-separated exact origins of browser applications, e.g. `https://app.example.com`.',
  }),
  HOSTED_BACKEND_URL: optionalText(
    'Origin shown as `hostedBackendUrl` in health. Default: origin of PUBLIC_URL.',
    'uri',
  ),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'Lines below this level are not written.',
  }),
  ENVIRONMENT: Type.String({
    default: 'production',
    pattern: '^[a-z0-9-]{1,40}$',
    description: 'Name shown in health and info.',
  }),
  BODY_LIMIT_BYTES: Type.Integer({
    default: 1_048_576,
    minimum: 1024,
    maximum: 16_777_216,
    description: 'Largest request body.',
  }),
  FILE_LIMIT_BYTES: byteCount(5 * gibibyte, 'Largest single file.'),
  STORAGE_DEFAULT_QUOTA_BYTES: byteCount(5 * gibibyte, 'What a tenant may store where nobody gave it another quota.'),
  S3_BUCKET: optionalText(
    'Keep files in this bucket of an S3-compatible service. Needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.',
  ),
  S3_ENDPOINT: optionalText('Address of that service, `https://s3.example.com`. Default: AWS.', 'uri'),
  S3_REGION: Type.String({
    default: 'us-east-1',
    minLength: 1,
    description: 'Region that requests to it are signed for.',
  }),
  S3_ACCESS_KEY_ID: optionalText('Access key of that service.'),
  S3_SECRET_ACCESS_KEY: optionalText('Its secret.', 'password'),
  S3_FORCE_PATH_STYLE: Type.Enum(['on', 'off'], {
    default: 'off',
    description: '`on` for services that know buckets as paths (`https://host/bucket`), not as hosts.',
  }),
  REDIS_URL: optionalText(
    'Redis in which all processes count requests together, `redis://user:password@host:6379/0`. Default: each counts for itself.',
    'redis-url',
  ),
  REDIS_PREFIX: Type.String({
    default: 'atrium:',
    pattern: '^[\\w:.-]{1,64}$',
    description: 'What keys there begin with, for installations that share a Redis.',
  }),
  DISPATCHER_SECRET: Type.Optional(
    Type.String({
      minLength: 16,
      description:
        'What callers of the dispatcher from outside show, 16 characters or more, better 32 bytes: `openssl rand -base64 32`. Default: nobody can, and the processes run the scheduled jobs by themselves.',
    }),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalText(
    'Receiver of OpenTelemetry traces over HTTP, `http://collector:4318`. Default: no traces.',
    'http-url',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optionalText(
    'Comma-separated headers for it, `name=value`, values percent-encoded.',
    'header-list',
  ),
  OTEL_SERVICE_NAME: Type.String({ default: 'atrium', minLength: 1, maxLength: 100, description: 'Name in traces.' }),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    default: 1,
    minimum: 0,
    maximum: 1,
    description: 'Which part of the traces that begin here is sent; what a caller samples is always sent.',
  }),
  METRICS_TOKEN: Type.Optional(
    Type.String({
      pattern: '^[\\w.~+/=-]{16,256}$',
      description:
        'Bearer token with which Prometheus may read `GET /api/v1/system/metrics`, 16 characters or more. Default: system administrators only.',
    }),
  ),
  REALTIME_URL: optionalText(
    'Realtime messaging server with the HTTP API of Centrifugo, `https://realtime.example.com`, whose state health shows. Needs REALTIME_API_KEY.',
    'http-url',
  ),
  REALTIME_API_KEY: optionalText('Key for the HTTP API of that server.'),
  ACCESS_TOKEN_SECONDS: seconds(900, 60, 3600, 'Life of an access token.'),
  REFRESH_GRACE_SECONDS: seconds(
    0,
    0,
    60,
    'How long a used refresh token may be replayed without ending the session. The replay itself is refused.',
  ),
  TENANT_DELETION_GRACE_DAYS: Type.Integer({
    default: 30,
    minimum: 0,
    maximum: 365,
    description: 'How long the deletion of a tenant can be taken back.',
  }),
  PASSWORD_MEMORY_KIB: Type.Integer({
    default: 19_456,
    minimum: 19_456,
    maximum: 1_048_576,
    description: 'argon2id memory per hash.',
  }),
  PASSWORD_PASSES: Type.Integer({ default: 2, minimum: 2, maximum: 10, description: 'argon2id passes.' }),
});

export type Config = Static<typeof ConfigSchema>;

/** A setting that stops the start; the message is one line that names the variable. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const listOf = (check: (item: string) => boolean) => (text: string) => splitList(text).every(check);

const ajv = new Ajv({
  coerceTypes: true,
  useDefaults: true,
  strict: true,
  // As for the schemas of requests: TypeBox made it.
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

/** @throws ConfigError naming the first variable or option whose value does not fit. */
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

/** What is given on the command line goes before the environment. */
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

/** `a=1,b=2` with percent-encoded values (OpenTelemetry, "OTLP exporter configuration"); undefined when it is anything else. */
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

/** 32 bytes from hex or base64; undefined when it is anything else, or obviously not random. */
export function parseKey(text: string): Buffer | undefined {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  return bytes.length === 32 && new Set(bytes).size > 8 ? bytes : undefined;
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

/** How clients reach the service: as configured, or by the address it listens on. */
export function publicUrlOf({ PUBLIC_URL, HOST, PORT }: Config): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/$/, '');
  const isWildcard = HOST === '0.0.0.0' || HOST === '::';
  const host = isWildcard ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${PORT}`;
}
