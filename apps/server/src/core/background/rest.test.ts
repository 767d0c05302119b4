import { expect, it } from 'vitest';

import { restMs } from '#core/background/rest';

it('rests three times as long as the step took, within bounds', () => {
  expect([1, 5, 1000].map((tookMs) => restMs(tookMs))).toEqual([10, 15, 50]);
});

it('rests at most a millisecond for each recent request if a caller waits', () => {
  expect([0, 3, 1000].map((requests) => restMs(5, requests))).toEqual([0, 3, 15]);
});
