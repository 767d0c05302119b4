import { availableParallelism } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What a process has been doing since it was asked last. */
export type LoadSource = {
  /** Share of the cores that the process may use, in percent. */
  cpuPercent(): number;
  /** Mean delay of the event loop. */
  delayMs(): number;
  /** Whether the event loop has had hardly any idle time. */
  isBusy(): boolean;
  close(): void;
};

/** Over the time in which load is judged; `busiest`: so many requests were under way at once. */
export type Load = { cpuPercent: number; delayMs: number; busiest: number };
export type BreakerLimits = { enabled: boolean; cpuPercent: number; durationMs: number };

/** Decides what to shed: nothing, requests of the unauthenticated, or all requests beyond a small number at once. */
export type Breaker = {
  configure(limits: BreakerLimits): void;
  /** To be called after each interval in which load is judged. */
  check(load: Load): void;
  level(): 0 | 1 | 2;
};

/** From this delay the event loop counts as lagging. */
export const maxDelayMs = 250;
/** With less than that under way it is the machine that is slow, and refusing would not make it faster. */
export const fewRequests = 50;

export function createBreaker(now: () => number, initial: BreakerLimits): Breaker {
  let limits = initial;
  let openUntil = -Infinity;
  let severity: 1 | 2 = 1;
  const isOpen = () => limits.enabled && now() < openUntil;

  return {
    configure: (next) => void (limits = next),
    check({ cpuPercent, delayMs, busiest }) {
      const lags = delayMs > maxDelayMs && busiest > fewRequests;
      if (!limits.enabled || (cpuPercent <= limits.cpuPercent && !lags)) return;
      severity = isOpen() ? 2 : 1;
      openUntil = now() + limits.durationMs;
    },
    level: () => (isOpen() ? severity : 0),
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
