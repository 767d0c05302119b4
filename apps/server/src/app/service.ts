import type { FastifyInstance } from 'fastify';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

import { drainTimeoutMs, retirementMs } from '#app/announcement';
import { closeEach } from '#app/close-each';
import { ConfigError, publicUrlOf, splitList, type Config } from '#app/config';
import { modules } from '#app/modules';
import { observe, openTracing } from '#app/observation';
import { createPrincipalCache } from '#core/base/access/principal-cache';
import { createPasswords } from '#core/base/crypto/passwords';
import type { Tracing, Within } from '#core/base/tracing/tracing';
import { createAuditGroups } from '#core/data/audit/audit-groups';
import { ConnectionLostError } from '#core/data/db/connection';
import { openDatabase, type Database } from '#core/data/db/database';
import { listen, type Listener } from '#core/data/db/listener';
import { MigrationError, migrate } from '#core/data/db/migrate';
import { isSubject, revocationChannel } from '#core/data/db/revocation';
import type { DatabaseTiming } from '#core/data/db/timing';
import { createLocalStore } from '#core/data/files/local-store';
import type { ObjectStore } from '#core/data/files/object-store';
import { openEncryption } from '#core/data/installation-key/installation-key';
import type { Logging } from '#core/data/log/log';
import { logConfiguration } from '#core/data/log/log-config';
import { createRequestCounts } from '#core/data/log/request-counts';
import { createSecurityEvents } from '#core/data/security-events/security-events';
import { createRuntimeSettings, settingsChannel, type RuntimeSettings } from '#core/data/settings/settings';
import { createUsage } from '#core/data/usage/usage';
import type { Authenticate } from '#core/http/identify';
import { createHttpServer, type HttpOptions } from '#core/http/server';
import { createDispatcher, type Dispatcher } from '#core/platform/jobs/dispatcher';
import { bindJobs } from '#core/platform/jobs/job';
import { addressRulesChannel } from '#core/platform/limits/address-rules.queries';
import { principalCacheSize, securitySetting } from '#core/platform/limits/config';
import { createLimits } from '#core/platform/limits/limits';
import { createMail } from '#core/platform/mail/mail';
import type { GatherMetrics } from '#core/platform/metrics/metrics';
import { createCallLog } from '#core/platform/outbound/call-log';
import { createOutbound, type Outbound } from '#core/platform/outbound/outbound';
import { createQueue, type Queue } from '#core/platform/queue/queue';
import { bindWork } from '#core/platform/queue/work';
import type { Services, Settings } from '#core/platform/services';
import { createApiKeyAuthenticator } from '#modules/api-keys/index';
import { createAccessTokens, createAuthenticator, ensureSystemAdministrator } from '#modules/auth/index';

export const migrationsDirectory = fileURLToPath(new URL('../../migrations', import.meta.url));

export type ServiceOptions = {
  config: Config;
  /** Direct connection to the database, as its owner. */
  connection: pg.ClientConfig;
  /** Connection for requests, if there is a transaction pooler. */
  pooledConnection?: pg.ClientConfig | undefined;
  encryptionKeys: readonly [Buffer, ...Buffer[]];
  logging: Logging;
  databaseTiming?: Partial<DatabaseTiming> | undefined;
  now?: () => Date;
  inspectAnswer?: HttpOptions['inspectAnswer'];
  /** Metrics of all workers, if several processes serve. */
  gatherMetrics?: GatherMetrics | undefined;
};

/** All parts of one process except the database server: opened in order, closed in reverse order. */
export type Service = {
  http: FastifyInstance;
  services: Services;
  authenticate: Authenticate;
  /** Present if this start created the first administrator with a generated password. */
  generatedPassword: string | undefined;
  /** Accepts no new connections and answers running requests. */
  drain(how?: ClosingService): Promise<void>;
  /** Drains, then closes all parts. */
  close(): Promise<void>;
};

/** `replaced`: another process continues to serve, so clients must not notice that this one ends. */
export type ClosingService = { replaced: boolean };

export async function createService(options: ServiceOptions): Promise<Service> {
  const { config } = options;
  const release = await readRelease();
  const tracing = await openTracing(config, release.version, options.logging.log.child({ service: 'tracing' }));
  const database = await openMigratedDatabase(options, tracing?.within);
  let serving = true;
  const { services, close } = await openServices({ ...options, release, tracing }, database, () => serving);
  const initial = { email: config.SYSTEM_ADMIN_EMAIL, password: config.SYSTEM_ADMIN_PASSWORD };
  const administrator = await whenConnected(() => ensureSystemAdministrator(services, initial));
  const authenticate = createAuthenticator(services, createApiKeyAuthenticator(services));
  const ending = new AbortController();
  const http = await createHttpServer({
    modules,
    ending: ending.signal,
    services,
    authenticate,
    trustedProxies: splitList(config.TRUSTED_PROXIES),
    corsOrigins: splitList(config.CORS_ORIGINS),
    bodyLimitBytes: config.BODY_LIMIT_BYTES,
    limits: {
      maxConnections: config.MAX_CONNECTIONS,
      // With several processes, the process that accepts connections counts.
      ...(options.gatherMetrics === undefined ? { maxConnectionsPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS } : {}),
    },
    ...(options.inspectAnswer === undefined ? {} : { inspectAnswer: options.inspectAnswer }),
  });
  let drained: Promise<void> | undefined;
  const drain = ({ replaced }: ClosingService = { replaced: false }): Promise<void> => {
    // Health checks use kept connections too; a replaced process stays ready because another one serves.
    serving &&= replaced;
    spareIdleConnections(http.server, replaced ? replacedGraceMs : stoppedGraceMs);
    const uploadMs = uploadMsOf({ replaced });
    setTimeout(() => ending.abort(), uploadMs).unref();
    // An answer cannot be refused once it has begun, and a process that waited for its reader would be killed before it has closed.
    setTimeout(() => http.server.closeAllConnections(), uploadMs + lateUploadMs).unref();
    return (drained ??= http.close());
  };
  return {
    http,
    services,
    authenticate,
    generatedPassword: administrator?.generatedPassword,
    drain,
    close: () => closeEach([drain, close]),
  };
}

/** Time for uploads to end: less than the process has, so that late uploads can be answered. */
function uploadMsOf({ replaced }: ClosingService): number {
  return (replaced ? retirementMs : drainTimeoutMs) - 7000;
}

/** Time for the answers to late uploads; the rest of the drain timeout is for closing. */
const lateUploadMs = 2500;

const replacedGraceMs = 5000;
/** Short, because the caller that stops the service waits. */
const stoppedGraceMs = 500;

/** Closing an idle connection may cut a request in transit, so each gets time for one more request that announces the close. */
function spareIdleConnections(server: FastifyInstance['server'], graceMs: number): void {
  server.closeIdleConnections = () => undefined;
  setTimeout(() => Reflect.deleteProperty(server, 'closeIdleConnections'), graceMs).unref();
}

const connectTimeoutMs = 10_000;
const retryMs = 200;

// Unlike a request, a start on a busy machine should wait rather than fail.
async function whenConnected<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + connectTimeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || Date.now() > deadline) throw error;
      await sleep(retryMs);
    }
  }
}

async function openMigratedDatabase(options: ServiceOptions, within: Within | undefined): Promise<Database> {
  const { connection, pooledConnection, config, logging } = options;
  const log = logging.log.child({ service: 'database' });
  const facts = await migrate(connection, migrationsDirectory);
  if (pooledConnection !== undefined && facts.loginBypassesPolicies) {
    throw new MigrationError(
      'Behind a pooler the database login must not be a superuser or have BYPASSRLS: set another login in DATABASE_URL and DATABASE_DIRECT_URL.',
    );
  }
  return openDatabase({
    connection: pooledConnection ?? connection,
    pooled: pooledConnection !== undefined,
    preparedStatements: config.DATABASE_PREPARED_STATEMENTS === 'on',
    explicitTransactions: facts.isCitus,
    timing: options.databaseTiming ?? {},
    within,
    onDamage: (damage) => log.error(damage, 'the database found damaged data'),
  });
}

type Release = { version: string; buildDate: string };

type Opening = ServiceOptions & { release: Release; tracing: Tracing | undefined };

async function openServices(options: Opening, database: Database, isServing: () => boolean) {
  const { config, logging, now = () => new Date() } = options;
  const { log } = logging;
  logging.connect(database);
  const logOf = (service: string) => log.child({ service });
  const settings = readSettings(config, options.release);
  const encryption = await whenConnected(() => openEncryption({ database, keys: options.encryptionKeys, now }));
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = config;
  const mail = createMail({ database, encryption, log: logOf('mail'), now, smtpUrl, from });
  const runtimeSettings = createRuntimeSettings({ database, log: logOf('settings'), now });
  runtimeSettings.watch(logConfiguration, (value) => logging.configure(value));
  const { limits, listener, principals } = await openShared(options, {
    database,
    log: logOf('limits'),
    runtimeSettings,
  });
  const files = await openFiles(config);
  const { gatherMetrics } = options;
  const observed = observe(config, {
    database,
    limits,
    files,
    logging,
    principals,
    version: settings.version,
    now,
    gatherMetrics,
  });
  const records = openRecords(options, database);
  observed.metrics.add(...records.callLog.metrics);
  const services: Services = {
    database,
    encryption,
    passwords: await createPasswords({ memoryKiB: config.PASSWORD_MEMORY_KIB, passes: config.PASSWORD_PASSES }),
    principals,
    mail,
    files,
    outbound: openOutbound(options),
    ...records,
    log,
    logging,
    now,
    tokens: createAccessTokens({
      database,
      encryption,
      issuer: settings.publicUrl,
      lifetimeSeconds: settings.accessTokenSeconds,
      now,
    }),
    settings,
    runtimeSettings,
    limits,
    ...observed,
    tracing: options.tracing,
    dispatcher: openDispatcher(options, { database, health: observed.health, services: () => services }),
    queue: openQueue(options, { metrics: observed.metrics, services: () => services }),
    isServing,
  };
  return { services, close: () => closeServices(services, listener) };
}

/** Batch writers for records about requests. */
function openRecords({ logging, now = () => new Date() }: ServiceOptions, database: Database) {
  const logOf = (service: string) => logging.log.child({ service });
  return {
    auditGroups: createAuditGroups({ database, log: logOf('audit') }),
    callLog: createCallLog({ database, log: logOf('connectors'), now }),
    requestCounts: createRequestCounts({ database, log: logOf('http'), now }),
    securityEvents: createSecurityEvents({ database, log: logOf('security-events'), now }),
    usage: createUsage({ database, log: logOf('usage'), now }),
  };
}

const minSecretBytes = 32;

function openDispatcher(
  { config, connection, logging, now = () => new Date() }: ServiceOptions,
  { database, health, services }: Pick<Services, 'database' | 'health'> & { services(): Services },
): Dispatcher {
  const log = logging.log.child({ service: 'dispatcher' });
  const secret = config.DISPATCHER_SECRET;
  if (secret !== undefined && Buffer.byteLength(secret) < minSecretBytes)
    log.warn(`DISPATCHER_SECRET is shorter than ${minSecretBytes} bytes. Create one with: openssl rand -base64 32`);
  const jobs = modules.flatMap((module) => bindJobs(module, () => ({ services: services(), connection })));
  return createDispatcher({ database, log, now, health, jobs, secret });
}

function openQueue(
  { connection, logging }: ServiceOptions,
  { metrics, services }: Pick<Services, 'metrics'> & { services(): Services },
): Queue {
  const work = modules.flatMap((module) => bindWork(module, services));
  const queue = createQueue({ connection, work, log: logging.log.child({ service: 'queue' }) });
  metrics.add(...queue.metrics());
  return queue;
}

function closeServices(services: Services, listener: Listener): Promise<void> {
  return closeEach([
    () => services.dispatcher.close(),
    () => services.queue.close(),
    () => services.mail.close(),
    () => services.outbound.close(),
    () => services.callLog.close(),
    () => services.realtime.close(),
    () => services.files.close(),
    () => services.auditGroups.close(),
    () => services.usage.close(),
    () => services.securityEvents.close(),
    () => services.requestCounts.close(),
    () => listener.close(),
    () => services.limits.close(),
    () => services.passwords.close(),
    () => services.runtimeSettings.close(),
    () => services.logging.close(),
    () => services.database.close(),
    () => services.tracing?.close(),
  ]);
}

/** In-memory state that follows the database by notifications, and is reloaded if notifications may have been missed. */
async function openShared(
  { config, connection, now = () => new Date() }: ServiceOptions,
  { database, log, runtimeSettings }: { database: Database; log: Services['log']; runtimeSettings: RuntimeSettings },
) {
  const redis = config.REDIS_URL === undefined ? undefined : { url: config.REDIS_URL, prefix: config.REDIS_PREFIX };
  const limits = await createLimits({ database, log, now, runtimeSettings, redis });
  const listener = listen({
    connection,
    channels: {
      [revocationChannel]: (subject) => void (isSubject(subject) && principals.forget(subject)),
      [settingsChannel]: () => void runtimeSettings.reload(),
      [addressRulesChannel]: () => void limits.rules.reload(),
    },
    onGap: () => {
      principals.clear();
      void runtimeSettings.reload();
      void limits.rules.reload();
    },
  });
  const principals = createPrincipalCache({
    ...principalCacheSize(runtimeSettings.current(securitySetting)),
    isCurrent: () => listener.isConnected(),
    now: () => now().getTime(),
  });
  runtimeSettings.watch(securitySetting, (value) => principals.resize(principalCacheSize(value)));
  // The first request must use the configured values.
  await Promise.all([runtimeSettings.reload(), limits.rules.reload()]);
  return { limits, listener, principals };
}

async function openFiles(config: Config): Promise<ObjectStore> {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (bucket === undefined) return createLocalStore(path.resolve(config.DATA_DIR, 'files'));
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigError('S3_BUCKET requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY. Set all three.');
  }
  // Loaded only here: the client library is large, and most installations do not need it.
  const { createS3Store } = await import('#core/data/files/s3-store');
  return createS3Store({
    endpoint: config.S3_ENDPOINT,
    bucket,
    region: config.S3_REGION,
    accessKeyId,
    secretAccessKey,
    forcePathStyle: config.S3_FORCE_PATH_STYLE === 'on',
  });
}

function openOutbound({ config, logging: { log }, tracing }: Opening): Outbound {
  const allowedRanges = splitList(config.OUTBOUND_ALLOWED_CIDRS);
  if (allowedRanges.length > 0) log.warn({ allowedRanges }, 'tenants may let the service call private addresses');
  return createOutbound({ allowedRanges, ownPort: config.PORT, within: tracing?.within });
}

function readSettings(config: Config, release: Release): Settings {
  const publicUrl = publicUrlOf(config);
  return {
    ...release,
    environment: config.ENVIRONMENT,
    publicUrl,
    corsOrigins: splitList(config.CORS_ORIGINS),
    hostedBackendUrl: config.HOSTED_BACKEND_URL ?? new URL(publicUrl).origin,
    accessTokenSeconds: config.ACCESS_TOKEN_SECONDS,
    refreshGraceSeconds: config.REFRESH_GRACE_SECONDS,
    defaultQuotaBytes: config.STORAGE_DEFAULT_QUOTA_BYTES,
    fileLimitBytes: config.FILE_LIMIT_BYTES,
    tenantDeletionGraceDays: config.TENANT_DELETION_GRACE_DAYS,
  };
}

/** Version and date of a release are only in package.json: a file time would be the time of its copy. */
async function readRelease(): Promise<Release> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { version, buildDate } = JSON.parse(text) as Release;
  return { version, buildDate };
}
