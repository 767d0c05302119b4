import type { PrincipalCache } from '#core/base/access/principal-cache';
import type { AccessTokens } from '#core/base/crypto/access-tokens';
import type { Encryption } from '#core/base/crypto/encryption';
import type { Passwords } from '#core/base/crypto/passwords';
import type { Tracing } from '#core/base/tracing/tracing';
import type { AuditGroups } from '#core/data/audit/audit-groups';
import type { Database } from '#core/data/db/database';
import type { ObjectStore } from '#core/data/files/object-store';
import type { Log, Logging } from '#core/data/log/log';
import type { RequestCounts } from '#core/data/log/request-counts';
import type { SecurityEvents } from '#core/data/security-events/security-events';
import type { RuntimeSettings } from '#core/data/settings/settings';
import type { Usage } from '#core/data/usage/usage';
import type { Health } from '#core/platform/health/health';
import type { Realtime } from '#core/platform/health/realtime';
import type { Dispatcher } from '#core/platform/jobs/dispatcher';
import type { Limits } from '#core/platform/limits/limits';
import type { Mail } from '#core/platform/mail/mail';
import type { Metrics } from '#core/platform/metrics/metrics';
import type { CallLog } from '#core/platform/outbound/call-log';
import type { Outbound } from '#core/platform/outbound/outbound';
import type { Queue } from '#core/platform/queue/queue';

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
  /** Grace period in which the deletion of a tenant can be undone. */
  tenantDeletionGraceDays: number;
};

/** Dependencies of use cases: everything with I/O, time or secrets. */
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
