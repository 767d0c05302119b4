import { expect, it } from 'vitest';

import { stepPauseMs } from '#core/data/background/pause';

it('rests three times as long as the step took, within bounds', () => {
  expect([1, 5, 1000].map((tookMs) => stepPauseMs(tookMs))).toEqual([10, 15, 50]);
});

it('rests at most a millisecond for each recent request if a caller waits', () => {
  expect([0, 3, 1000].map((requests) => stepPauseMs(5, requests))).toEqual([0, 3, 15]);
});
