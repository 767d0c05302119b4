import { expect, it } from 'vitest';

import { Counts } from '#core/base/concurrency/counts';

it('counts up and down by key, and begins at zero', () => {
  const counts = new Counts();
  counts.add('a', 1);
  counts.add('a', 1);
  counts.add('b', 1);
  counts.add('b', -1);
  expect(['a', 'b', 'c'].map((key) => counts.of(key))).toEqual([2, 0, 0]);
});
