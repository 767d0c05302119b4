import { expect, it } from 'vitest';

import { retryAfter } from '#core/base/backoff.rules';

it('grows from a minute to twelve hours in six steps', () => {
  const minutes = [1, 2, 3, 4, 5, 6].map((attempts) => retryAfter(attempts)! / 60_000);
  expect(minutes).toEqual([1, 5, 15, 60, 240, 720]);
  expect(retryAfter(7)).toBeUndefined();
});
