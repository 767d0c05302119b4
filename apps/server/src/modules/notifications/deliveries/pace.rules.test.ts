import { expect, it } from 'vitest';

import { gapMs } from '#modules/notifications/deliveries/pace.rules';

it.each([
  [0, 5],
  [100, 10],
  [700, 40],
  [100_000, 40],
])('after %d requests the next delivery waits %d ms', (requests, ms) => {
  expect(gapMs(requests)).toBe(ms);
});
