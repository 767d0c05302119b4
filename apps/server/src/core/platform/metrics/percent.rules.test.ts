import { expect, it } from 'vitest';

import { percentOf } from '#core/platform/metrics/percent.rules';

it.each<[number, number, 0 | 100, number]>([
  [0, 0, 100, 100],
  [0, 0, 0, 0],
  [0, 3, 100, 0],
  [2, 3, 0, 66.67],
  [3, 3, 0, 100],
])('%i of %i, and %i of nothing, is %d', (part, whole, ofNothing, percent) => {
  expect(percentOf(part, whole, ofNothing)).toBe(percent);
});
