import type { PrincipalCache } from '#core/access/principal-cache';
import type { AuditGroups } from '#core/audit/audit-groups';
import type { AccessTokens } from '#core/crypto/access-tokens';
import type { Encryption } from '#core/crypto/encryption';
import type { Passwords } from '#core/crypto/passwords';
import type { Database } from '#core/db/database';
import type { ObjectStore } from '#core/files/object-store';
import type { Health } from '#core/health/health';
import type { Realtime } from '#core/health/realtime';
import type { Dispatcher } from '#core/jobs/dispatcher';
import type { Limits } from '#core/limits/limits';
import type { Log, Logging } from '#core/log/log';
import type { RequestCounts } from '#core/log/request-counts';
import type { Mail } from '#core/mail/mail';
import type { Metrics } from '#core/metrics/metrics';
import type { CallLog } from '#core/outbound/call-log';
import type { Outbound } from '#core/outbound/outbound';
import type { Queue } from '#core/queue/queue';
import type { SecurityEvents } from '#core/security-events/security-events';
import type { RuntimeSettings } from '#core/settings/settings';
import type { Tracing } from '#core/tracing/tracing';
import type { Usage } from '#core/usage/usage';

/** Settings that use cases may look at; the environment itself is read in one place only. */
export type Settings = {
  version: string;
  /** When the release was made. */
  buildDate: string;
  environment: string;
  publicUrl: string;
  /** Where pages of others may call from. */
  corsOrigins: readonly string[];
  hostedBackendUrl: string;
  accessTokenSeconds: number;
  refreshGraceSeconds: number;
  /** Storage limit in bytes of a tenant without a quota of its own. */
  defaultQuotaBytes: number;
  /** The largest single file. */
  fileLimitBytes: number;
  /** How long the deletion of a tenant can be taken back. */
  tenantDeletionGraceDays: number;
};

/** What use cases get from outside: everything with I/O, time or secrets. */
export type Services = {
  database: Database;
  passwords: Passwords;
  encryption: Encryption;
  tokens: AccessTokens;
  principals: PrincipalCache;
  mail: Mail;
  files: ObjectStore;
  outbound: Outbound;
  callLog: CallLog;
  auditGroups: AuditGroups;
  usage: Usage;
  securityEvents: SecurityEvents;
  /** Of the module that a use case belongs to. */
  log: Log;
  logging: Logging;
  requestCounts: RequestCounts;
  settings: Settings;
  runtimeSettings: RuntimeSettings;
  limits: Limits;
  health: Health;
  realtime: Realtime;
  metrics: Metrics;
  /** Undefined where no collector is configured. */
  tracing: Tracing | undefined;
  dispatcher: Dispatcher;
  queue: Queue;
  /** The current time; tests may fix it. */
  now(): Date;
  /** False once the process has begun to stop. */
  isServing(): boolean;
};
