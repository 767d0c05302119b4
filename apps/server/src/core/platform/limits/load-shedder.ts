import { availableParallelism } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The load of the process since the previous measurement. */
export type LoadSource = {
  /** Share of the cores that the process may use, in percent. */
  cpuPercent(): number;
  /** Mean delay of the event loop. */
  delayMs(): number;
  /** Whether the event loop has had hardly any idle time. */
  isBusy(): boolean;
  close(): void;
};

/** Load of one interval; `busiest`: the highest number of requests under way at once. */
export type Load = { cpuPercent: number; delayMs: number; busiest: number };
export type LoadShedderLimits = { enabled: boolean; cpuPercent: number; durationMs: number };

/** Requests to shed: none, those without credentials, or also those above a small number at once. */
export type SheddingLevel = 'none' | 'anonymous' | 'excess';

/** Decides which requests are refused under load. */
export type LoadShedder = {
  configure(limits: LoadShedderLimits): void;
  /** To be called after each interval. */
  check(load: Load): void;
  level(): SheddingLevel;
};

/** Above this delay the event loop counts as lagging. */
export const maxDelayMs = 250;
/** With fewer requests under way the machine itself is slow, and load shedding would not help. */
export const fewRequests = 50;

export function createLoadShedder(now: () => number, initial: LoadShedderLimits): LoadShedder {
  let limits = initial;
  let shedsUntil = -Infinity;
  let severity: SheddingLevel = 'anonymous';
  const isShedding = () => limits.enabled && now() < shedsUntil;

  return {
    configure: (next) => void (limits = next),
    check({ cpuPercent, delayMs, busiest }) {
      const lags = delayMs > maxDelayMs && busiest > fewRequests;
      if (!limits.enabled || (cpuPercent <= limits.cpuPercent && !lags)) return;
      severity = isShedding() ? 'excess' : 'anonymous';
      shedsUntil = now() + limits.durationMs;
    },
    level: () => (isShedding() ? severity : 'none'),
  };
}

const busyShare = 0.9;

export function measureLoad(): LoadSource {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let usedBefore = process.cpuUsage();
  let askedAt = performance.now();
  let loopBefore = performance.eventLoopUtilization();
  return {
    cpuPercent() {
      const used = process.cpuUsage(usedBefore);
      const elapsedMs = Math.max(1, performance.now() - askedAt);
      usedBefore = process.cpuUsage();
      askedAt = performance.now();
      return (used.user + used.system) / 10 / elapsedMs / availableParallelism();
    },
    delayMs() {
      const mean = delay.mean / 1e6;
      delay.reset();
      // Without a sample there is no mean.
      return Number.isNaN(mean) ? 0 : mean;
    },
    isBusy() {
      const { utilization } = performance.eventLoopUtilization(loopBefore);
      loopBefore = performance.eventLoopUtilization();
      return utilization > busyShare;
    },
    close: () => delay.disable(),
  };
}
