import { Redis } from 'ioredis';

import type { Log } from '#core/data/log/log';
import { violationMemoryMs, type Allowance, type Counters, type Refusal } from '#core/platform/limits/counters';

/** Counters that all processes share; without Redis, those of this process until it is back. */
export type SharedCounters = {
  take(address: string, allowance: Allowance): Refusal | undefined | Promise<Refusal | undefined>;
  used(address: string, windowMs: number): number | Promise<number>;
  isShared(): boolean;
  close(): Promise<void>;
};

type Options = {
  url: string;
  /** Leads every key, for those who share a Redis. */
  prefix: string;
  local: Counters;
  log: Log;
  now: () => number;
  /** How long an answer of Redis is waited for: counting must not hold a request up for long. */
  timeoutMs?: number;
};

const probeMs = 500;
const maxKnownBlocks = 10_000;

// Keys of one address carry its hash tag, so that a cluster keeps them together.
const takeScript = `
local left = redis.call('pttl', KEYS[2])
if left > 0 then return {left, 0} end
local count = redis.call('incr', KEYS[1])
if count == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) end
if count <= tonumber(ARGV[1]) then return {0, 0} end
redis.call('del', KEYS[1])
redis.call('set', KEYS[2], 1, 'px', ARGV[3])
local violations = redis.call('incr', KEYS[3])
redis.call('pexpire', KEYS[3], ARGV[5])
if violations < tonumber(ARGV[4]) then return {tonumber(ARGV[3]), 0} end
redis.call('del', KEYS[3])
return {tonumber(ARGV[3]), 1}`;

type Scripted = Redis & { take(...keysAndArguments: (string | number)[]): Promise<[number, number]> };

export function createSharedCounters({ url, prefix, local, log, now, timeoutMs = 100 }: Options): SharedCounters {
  const connection = watchRedis(connect(url, timeoutMs), log);
  const { redis, fall } = connection;
  /** Refusals that Redis need not be asked for again. */
  const blocks = new Map<string, { until: number; blockMs: number }>();

  function keysOf(address: string, { windowMs, blockMs }: Allowance): string[] {
    // A changed configuration starts a new count, as it does in a single process.
    const key = `${prefix}{${address}}`;
    return [windowKey(prefix, address, windowMs), `${key}:blocked:${blockMs}`, `${key}:violations`];
  }

  function remember(address: string, blockMs: number, until: number): void {
    if (blocks.size >= maxKnownBlocks) blocks.delete(blocks.keys().next().value!);
    blocks.set(address, { until, blockMs });
  }

  async function takeShared(address: string, allowance: Allowance): Promise<Refusal | undefined> {
    const { max, windowMs, blockMs, maxViolations } = allowance;
    try {
      const keys = keysOf(address, allowance);
      const [leftMs, last] = await redis.take(...keys, max, windowMs, blockMs, maxViolations, violationMemoryMs);
      if (leftMs === 0) return undefined;
      remember(address, blockMs, now() + leftMs);
      return { retryAfterMs: leftMs, isLastViolation: last === 1 };
    } catch (error) {
      fall(error);
      return local.take(address, allowance);
    }
  }

  return {
    take(address, allowance) {
      if (!connection.isUp()) return local.take(address, allowance);
      const block = blocks.get(address);
      const leftMs = block?.blockMs === allowance.blockMs ? block.until - now() : 0;
      if (leftMs > 0) return { retryAfterMs: leftMs, isLastViolation: false };
      if (block !== undefined) blocks.delete(address);
      return takeShared(address, allowance);
    },
    used(address, windowMs) {
      if (!connection.isUp()) return local.used(address, windowMs);
      const count = redis.get(windowKey(prefix, address, windowMs)).then(Number);
      return count.catch(() => local.used(address, windowMs));
    },
    isShared: connection.isUp,
    close: connection.close,
  };
}

/** Whether redis answers is known before each call: a count must not wait to find out that it does not. */
function watchRedis(redis: Scripted, log: Log) {
  let isUp = false;
  const fall = (error: unknown) => {
    if (isUp) log.warn({ err: error }, 'redis does not answer: each process counts for itself until it does');
    isUp = false;
  };
  const rise = () => {
    if (!isUp) log.info('redis answers: all processes count together');
    isUp = true;
  };
  redis.on('error', fall);
  redis.on('close', () => fall(new Error('the connection to redis is gone')));
  redis.on('ready', rise);
  const probe = setInterval(() => {
    if (!isUp && redis.status === 'ready') redis.ping().then(rise, fall);
  }, probeMs).unref();
  return {
    redis,
    fall,
    isUp: () => isUp,
    close(): Promise<void> {
      clearInterval(probe);
      isUp = false;
      redis.disconnect();
      return Promise.resolve();
    },
  };
}

function windowKey(prefix: string, address: string, windowMs: number): string {
  return `${prefix}{${address}}:window:${windowMs}`;
}

function connect(url: string, timeoutMs: number): Scripted {
  const redis = new Redis(url, {
    connectTimeout: 2000,
    commandTimeout: timeoutMs,
    // What cannot be counted now is counted here, and must not be counted again later.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    retryStrategy: (times) => Math.min(100 * times, 1000),
  });
  redis.defineCommand('take', { numberOfKeys: 3, lua: takeScript });
  return redis as Scripted;
}
