import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';

import { splitList, type Config } from '#app/config';
import { modules } from '#app/modules';
import { createPrincipalCache } from '#core/access/principal-cache';
import { isSubject, revocationChannel } from '#core/access/revocation';
import { createEncryption } from '#core/crypto/encryption';
import { createPasswords } from '#core/crypto/passwords';
import { openDatabase, type DatabaseOptions } from '#core/db/database';
import { listen } from '#core/db/listener';
import { startHousekeeping } from '#app/housekeeping';
import { MigrationError, migrate } from '#core/db/migrate';
import { createHttpServer, type HttpOptions } from '#core/http/server';
import type { Log } from '#core/log/log';
import { createMail } from '#core/mail/mail';
import type { Services } from '#core/services';
import { createAccessTokens, createAuthenticator, createFirstAdministrator } from '#modules/auth/index';

export const migrationsDirectory = fileURLToPath(new URL('../../migrations', import.meta.url));

export type ServiceOptions = {
  config: Config;
  /** The database itself, as its owner. */
  connection: pg.ClientConfig;
  /** The way of ordinary requests to it, where a transaction pooler stands between. */
  pooledConnection?: pg.ClientConfig | undefined;
  encryptionKeys: readonly [Buffer, ...Buffer[]];
  log: Log;
  now?: () => Date;
  inspectAnswer?: HttpOptions['inspectAnswer'];
};

/** Everything of one process above the database server: opened in order, closed in reverse. */
export type Service = {
  http: FastifyInstance;
  services: Services;
  /** Present when this start created the first administrator with a password of our making. */
  generatedPassword: string | undefined;
  /** Finishes what is under way, then closes. */
  close(): Promise<void>;
};

export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, log } = options;
  const now = options.now ?? (() => new Date());
  const facts = await migrate(options.connection, migrationsDirectory);
  if (options.pooledConnection !== undefined && facts.loginBypassesPolicies) {
    throw new MigrationError(
      'Behind a pooler the database login must not be a superuser or have BYPASSRLS: name another login in DATABASE_URL and DATABASE_DIRECT_URL.',
    );
  }
  const database = openDatabase({ ...databaseOptions(options), explicitTransactions: facts.isCitus });
  const encryption = createEncryption(options.encryptionKeys);
  const passwords = await createPasswords({ memoryKiB: config.PASSWORD_MEMORY_KIB, passes: config.PASSWORD_PASSES });
  const publicUrl = config.PUBLIC_URL?.replace(/\/$/, '') ?? `http://${config.HOST}:${config.PORT}`;

  const listener = listen({
    connection: options.connection,
    channel: revocationChannel,
    onMessage: (subject) => void (isSubject(subject) && principals.forget(subject)),
    onGap: () => principals.clear(),
  });
  const principals = createPrincipalCache({
    max: 50_000,
    isCurrent: () => listener.isConnected(),
    now: () => now().getTime(),
  });
  const mail = createMail({ database, encryption, log, now, smtpUrl: config.SMTP_URL, from: config.MAIL_FROM });
  let serving = true;
  const services: Services = {
    database,
    encryption,
    passwords,
    principals,
    mail,
    log,
    now,
    tokens: createAccessTokens({
      database,
      encryption,
      issuer: publicUrl,
      lifetimeSeconds: config.ACCESS_TOKEN_SECONDS,
      now,
    }),
    settings: {
      version: await readVersion(),
      environment: config.ENVIRONMENT,
      publicUrl,
      hostedBackendUrl: config.HOSTED_BACKEND_URL ?? new URL(publicUrl).origin,
      accessTokenSeconds: config.ACCESS_TOKEN_SECONDS,
      refreshGraceSeconds: config.REFRESH_GRACE_SECONDS,
    },
    isServing: () => serving,
  };
  const administrator = await createFirstAdministrator(services, {
    email: config.SYSTEM_ADMIN_EMAIL,
    password: config.SYSTEM_ADMIN_PASSWORD,
  });
  const housekeeping = startHousekeeping(services, options.connection);
  const http = await createHttpServer({
    modules,
    services,
    authenticate: createAuthenticator(services),
    trustedProxies: splitList(config.TRUSTED_PROXIES),
    corsOrigins: splitList(config.CORS_ORIGINS),
    bodyLimitBytes: config.BODY_LIMIT_BYTES,
    ...(options.inspectAnswer === undefined ? {} : { inspectAnswer: options.inspectAnswer }),
  });
  return {
    http,
    services,
    generatedPassword: administrator?.generatedPassword,
    async close() {
      serving = false;
      await http.close();
      await housekeeping.close();
      await mail.close();
      await listener.close();
      await database.close();
    },
  };
}

function databaseOptions(options: ServiceOptions): DatabaseOptions {
  return {
    connection: options.pooledConnection ?? options.connection,
    pooled: options.pooledConnection !== undefined,
    preparedStatements: options.config.DATABASE_PREPARED_STATEMENTS === 'on',
  };
}

/** The version stands in package.json and nowhere else. */
async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
