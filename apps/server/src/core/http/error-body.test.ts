import { expect, it } from 'vitest';

import { toAppError } from '#core/http/error-body';

it.each(['40001', '40P01'])('what PostgreSQL broke off for others (%s) may be tried again soon', (code) => {
  const { status, retryAfterSeconds } = toAppError(Object.assign(new Error('broken off'), { code }), {});
  expect({ status, retryAfterSeconds }).toEqual({ status: 503, retryAfterSeconds: 1 });
});
