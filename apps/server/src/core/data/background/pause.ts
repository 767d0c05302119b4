import { setTimeout as sleep } from 'node:timers/promises';

/** The pause is this multiple of the step, at most `longestMs`, because the step may have waited itself. */
const factor = 3;
const shortestMs = 10;
const longestMs = 50;
const msPerRequest = 1;

/**
 * Pauses after a step of background work, so that requests get the processor and the database most of the time, however much such
 * work there is.
 * @param startedAt start of the step (`performance.now`)
 * @param requests number of recent requests (`RequestCounts.lately`), if a caller waits for the work: with few of them the pause is short
 */
export function pauseAfter(startedAt: number, requests?: number): Promise<void> {
  return sleep(pauseMs(performance.now() - startedAt, requests));
}

export function pauseMs(tookMs: number, requests = Infinity): number {
  return Math.min(Math.max(factor * tookMs, shortestMs), longestMs, msPerRequest * requests);
}
