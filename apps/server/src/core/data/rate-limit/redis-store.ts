import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';

import type { Log } from '#core/data/log/log';
import {
  violationMemoryMs,
  type BlockingLimit,
  type RateLimiter,
  type Refusal,
} from '#core/data/rate-limit/rate-limiter';

/** A `RateLimiter` that all processes share; without Redis, the local one counts until it is back. */
export type RedisStore = RateLimiter & { isUp(): boolean; close(): void };

type Options = {
  url: string;
  /** Leads every key, for those who share a Redis. */
  prefix: string;
  local: RateLimiter;
  log: Log;
  now: () => number;
  /** Timeout of Redis, because counting must not delay a request for long. */
  timeoutMs?: number;
};

const probeMs = 500;

// Keys in Redis carry the limited key as their hash tag, so that a cluster keeps them together.
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

export function createRedisStore({ url, prefix, local, log, now, timeoutMs = 100 }: Options): RedisStore {
  const redis = connect(url, timeoutMs);
  const { isUp, fall, close } = watchRedis(redis, log);
  /** Refusals that Redis need not be asked for again. */
  const blocks = new LRUCache<string, { until: number; blockMs: number }>({ max: 10_000 });

  async function takeShared(key: string, limit: BlockingLimit): Promise<Refusal | undefined> {
    const { max, windowMs, blockMs, maxViolations } = limit;
    // A changed configuration starts a new count, as it does in a single process.
    const tag = `${prefix}{${key}}`;
    const keys = [windowKey(prefix, key, windowMs), `${tag}:blocked:${blockMs}`, `${tag}:violations`];
    try {
      const [leftMs, last] = await redis.take(...keys, max, windowMs, blockMs, maxViolations, violationMemoryMs);
      if (leftMs === 0) return undefined;
      blocks.set(key, { until: now() + leftMs, blockMs });
      return { retryAfterMs: leftMs, isLastViolation: last === 1 };
    } catch (error) {
      fall(error);
      return local.take(key, limit);
    }
  }

  return {
    take(key, limit) {
      if (!isUp()) return local.take(key, limit);
      const block = blocks.get(key);
      const leftMs = block?.blockMs === limit.blockMs ? block.until - now() : 0;
      return leftMs > 0 ? { retryAfterMs: leftMs, isLastViolation: false } : takeShared(key, limit);
    },
    count(key, windowMs) {
      if (!isUp()) return local.count(key, windowMs);
      const count = redis.get(windowKey(prefix, key, windowMs)).then(Number);
      return count.catch(() => local.count(key, windowMs));
    },
    isUp,
    close,
  };
}

/** Whether redis answers is known before each call: a count must not wait to find out that it does not. */
function watchRedis(redis: Scripted, log: Log) {
  let isUp = false;
  const fall = (error: unknown) => {
    if (isUp) log.warn({ err: error }, 'redis does not answer; each process counts separately until it does');
    isUp = false;
  };
  const rise = () => {
    if (!isUp) log.info('redis answers; all processes count together');
    isUp = true;
  };
  redis.on('error', fall);
  redis.on('close', () => fall(new Error('the connection to redis is gone')));
  redis.on('ready', rise);
  const probe = setInterval(() => {
    if (!isUp && redis.status === 'ready') redis.ping().then(rise, fall);
  }, probeMs).unref();
  return {
    fall,
    isUp: () => isUp,
    close() {
      clearInterval(probe);
      isUp = false;
      redis.disconnect();
    },
  };
}

function windowKey(prefix: string, key: string, windowMs: number): string {
  return `${prefix}{${key}}:window:${windowMs}`;
}

function connect(url: string, timeoutMs: number): Scripted {
  const redis = new Redis(url, {
    connectTimeout: 2000,
    commandTimeout: timeoutMs,
    // A request that Redis cannot count now is counted in this process, so a later retry would count it twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    retryStrategy: (times) => Math.min(100 * times, 1000),
  });
  redis.defineCommand('take', { numberOfKeys: 3, lua: takeScript });
  return redis as Scripted;
}
