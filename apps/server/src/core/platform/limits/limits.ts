import type { AppError } from '#core/base/errors/app-error';
import { customerOf, isLocal } from '#core/base/net/ranges';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import type { RuntimeSettings } from '#core/data/settings/settings';
import { createAddressRules, type AddressRules } from '#core/platform/limits/address-rules';
import { securitySetting, type SecurityConfig } from '#core/platform/limits/config';
import { createCounters, type Allowance, type Refusal } from '#core/platform/limits/counters';
import { AddressBlocked, TooManyRequests } from '#core/platform/limits/errors';
import type { SharedCounters } from '#core/platform/limits/shared-counters';

type MaybeLater<Value> = Value | Promise<Value>;

/** Whom the service listens to, before it knows who they are. */
export type Limits = {
  /** The refusal of a request from there, if it is refused. What is refused is not counted. */
  refuse(address: string): MaybeLater<AppError | undefined>;
  /** The same for health, which has some requests of its own before it counts with the others. */
  refuseHealth(address: string): MaybeLater<AppError | undefined>;
  /** Whether tries of that address to be recognised as an administrator, while it is refused, are used up. */
  isHopeless(address: string): boolean;
  noteHopeless(address: string): void;
  /** Whether what the address has asked for lately is more than a configuration allows. */
  exceeds(address: string, config: SecurityConfig): Promise<boolean>;
  rules: AddressRules;
  /** `none`: each process counts for itself; otherwise whether Redis, where all count together, can be reached. */
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
const healthAllowance: Allowance = { max: 600, windowMs: minute, blockMs: minute, maxViolations: Infinity };
const recognitionAllowance: Allowance = { max: 30, windowMs: minute, blockMs: minute, maxViolations: Infinity };

export async function createLimits(options: Options): Promise<Limits> {
  const { runtimeSettings } = options;
  const now = () => options.now().getTime();
  const rules = createAddressRules(options);
  const counters = await openCounters(options, now);
  const healthChecks = createCounters(now);
  const recognitions = createCounters(now);
  let config = runtimeSettings.current(securitySetting);
  let allowance = allowanceOf(config);
  runtimeSettings.watch(securitySetting, (value) => {
    config = value;
    allowance = allowanceOf(value);
  });

  function toError(address: string, refusal: Refusal | undefined): AppError | undefined {
    if (refusal === undefined) return undefined;
    const { ip_blacklist_enabled: isOn, ip_blacklist_auto_block: isAutomatic } = config;
    if (refusal.isLastViolation && isOn && isAutomatic && !isLocal(address)) {
      rules.block(address, config.ip_blacklist_auto_block_duration_seconds * 1000);
    }
    return TooManyRequests({ retryAfterSeconds: Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)) });
  }

  function count(address: string): MaybeLater<AppError | undefined> {
    if (!config.dos_enabled) return undefined;
    const refusal = counters.take(customerOf(address), allowance);
    return refusal instanceof Promise ? refusal.then((value) => toError(address, value)) : toError(address, refusal);
  }

  function refuse(address: string, counted: boolean): MaybeLater<AppError | undefined> {
    if (rules.isAllowed(address)) return undefined;
    if (config.ip_blacklist_enabled && rules.isBlocked(address)) return AddressBlocked();
    return counted ? count(address) : undefined;
  }

  return {
    refuse: (address) => refuse(address, true),
    refuseHealth: (address) => refuse(address, healthChecks.take(customerOf(address), healthAllowance) !== undefined),
    isHopeless: (address) => recognitions.used(customerOf(address), minute) >= recognitionAllowance.max,
    noteHopeless: (address) => void recognitions.take(customerOf(address), recognitionAllowance),
    async exceeds(address, next) {
      if (!next.dos_enabled || rules.isAllowed(address)) return false;
      const used = await counters.used(customerOf(address), next.dos_time_window_seconds * 1000);
      return used >= next.dos_max_requests_per_ip;
    },
    rules,
    shared: () => (options.redis === undefined ? 'none' : counters.isShared() ? 'up' : 'down'),
    close: async () => {
      await rules.close();
      await counters.close();
    },
  };
}

async function openCounters({ redis, log }: Options, now: () => number): Promise<SharedCounters> {
  const local = createCounters(now);
  if (redis === undefined) return { ...local, isShared: () => false, close: () => Promise.resolve() };
  // Only here: most installations are one process.
  const { createSharedCounters } = await import('#core/platform/limits/shared-counters');
  return createSharedCounters({ ...redis, local, log, now });
}

function allowanceOf(config: SecurityConfig): Allowance {
  return {
    max: config.dos_max_requests_per_ip,
    windowMs: config.dos_time_window_seconds * 1000,
    blockMs: config.dos_block_duration_seconds * 1000,
    maxViolations: config.ip_blacklist_auto_block_threshold,
  };
}
