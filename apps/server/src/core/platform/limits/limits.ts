import type { AppError } from '#core/base/errors/app-error';
import { clientNetwork, isLocal } from '#core/base/net/ranges';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import { createMemoryStore } from '#core/data/rate-limit/memory-store';
import {
  refused,
  type BlockingLimit,
  type MaybePromise,
  type RateLimiter,
  type Refusal,
} from '#core/data/rate-limit/rate-limiter';
import type { RuntimeSettings } from '#core/data/settings/settings';
import { createAddressRules, type AddressRules } from '#core/platform/limits/address-rules';
import { securitySetting, type SecurityConfig } from '#core/platform/limits/config';
import { AddressBlocked, TooManyRequests } from '#core/platform/limits/errors';

/** Refuses requests by client address, before authentication. */
export type Limits = {
  /** The error to refuse a request with; undefined if it is admitted. Refused requests are not counted. */
  refuse(address: string): MaybePromise<AppError | undefined>;
  /** The same for health checks: the first ones of each minute are not counted with other requests. */
  refuseHealth(address: string): MaybePromise<AppError | undefined>;
  /** Whether a refused address has used up its attempts to authenticate as an administrator. */
  isRecoveryExhausted(address: string): boolean;
  countRecoveryAttempt(address: string): void;
  /** Whether the recent requests of the address exceed the limit of a configuration. */
  exceeds(address: string, config: SecurityConfig): Promise<boolean>;
  rules: AddressRules;
  /** `none`: each process counts separately; otherwise whether Redis, which counts for all processes, is reachable. */
  shared(): 'none' | 'up' | 'down';
  close(): Promise<void>;
};

type Options = {
  database: Database;
  log: Log;
  now(): Date;
  runtimeSettings: RuntimeSettings;
  redis: { url: string; prefix: string } | undefined;
};

const minute = 60_000;
const healthLimit: BlockingLimit = { max: 600, windowMs: minute, blockMs: minute, maxViolations: Infinity };
const recognitionLimit: BlockingLimit = { max: 30, windowMs: minute, blockMs: minute, maxViolations: Infinity };

export async function createLimits(options: Options): Promise<Limits> {
  const { runtimeSettings } = options;
  const now = () => options.now().getTime();
  const rules = createAddressRules(options);
  const local = createMemoryStore(now);
  const redis = await openRedis(options, { local, now });
  const requests = redis ?? local;
  const healthChecks = createMemoryStore(now);
  const recognitions = createMemoryStore(now);
  let config = runtimeSettings.current(securitySetting);
  let limit = limitOf(config);
  runtimeSettings.watch(securitySetting, (value) => {
    config = value;
    limit = limitOf(value);
  });

  function toError(address: string, refusal: Refusal | undefined): AppError | undefined {
    if (refusal === undefined) return undefined;
    const { ip_blacklist_enabled: isOn, ip_blacklist_auto_block: isAutomatic } = config;
    if (refusal.isLastViolation && isOn && isAutomatic && !isLocal(address)) {
      rules.block(address, config.ip_blacklist_auto_block_duration_seconds * 1000);
    }
    return refused(TooManyRequests, refusal.retryAfterMs);
  }

  function count(address: string): MaybePromise<AppError | undefined> {
    if (!config.dos_enabled) return undefined;
    const refusal = requests.take(clientNetwork(address), limit);
    return refusal instanceof Promise ? refusal.then((value) => toError(address, value)) : toError(address, refusal);
  }

  function refuse(address: string, counted: boolean): MaybePromise<AppError | undefined> {
    if (rules.isAllowed(address)) return undefined;
    if (config.ip_blacklist_enabled && rules.isBlocked(address)) return AddressBlocked();
    return counted ? count(address) : undefined;
  }

  return {
    refuse: (address) => refuse(address, true),
    refuseHealth: (address) => refuse(address, healthChecks.take(clientNetwork(address), healthLimit) !== undefined),
    isRecoveryExhausted: (address) => recognitions.count(clientNetwork(address), minute) >= recognitionLimit.max,
    countRecoveryAttempt: (address) => void recognitions.take(clientNetwork(address), recognitionLimit),
    async exceeds(address, next) {
      if (!next.dos_enabled || rules.isAllowed(address)) return false;
      const used = await requests.count(clientNetwork(address), next.dos_time_window_seconds * 1000);
      return used >= next.dos_max_requests_per_ip;
    },
    rules,
    shared: () => (redis === undefined ? 'none' : redis.isUp() ? 'up' : 'down'),
    close: async () => {
      await rules.close();
      redis?.close();
    },
  };
}

async function openRedis({ redis, log }: Options, parts: { local: RateLimiter; now: () => number }) {
  if (redis === undefined) return undefined;
  // Only here: most installations are one process.
  const { createRedisStore } = await import('#core/data/rate-limit/redis-store');
  return createRedisStore({ ...redis, ...parts, log });
}

function limitOf(config: SecurityConfig): BlockingLimit {
  return {
    max: config.dos_max_requests_per_ip,
    windowMs: config.dos_time_window_seconds * 1000,
    blockMs: config.dos_block_duration_seconds * 1000,
    maxViolations: config.ip_blacklist_auto_block_threshold,
  };
}
