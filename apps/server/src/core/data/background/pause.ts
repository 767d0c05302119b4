import { setTimeout as sleep } from 'node:timers/promises';

/** The pause is this multiple of the step, at most `maxMs`, because the step may have waited itself. */
const factor = 3;
const minMs = 10;
const maxMs = 50;
const msPerRequest = 1;

/**
 * Pauses after a step of background work, so that requests get the processor and the database most of the time.
 * @param startedAt start of the step (`performance.now`)
 * @param requests number of recent requests (`RequestCounts.lately`), if a caller waits for the work: with few of them the pause is short
 */
export function pauseAfter(startedAt: number, requests?: number): Promise<void> {
  return sleep(stepPauseMs(performance.now() - startedAt, requests));
}

export function stepPauseMs(tookMs: number, requests = Infinity): number {
  return Math.min(Math.max(factor * tookMs, minMs), maxMs, msPerRequest * requests);
}
