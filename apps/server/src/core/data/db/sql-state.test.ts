import { expect, it } from 'vitest';

import { ConnectionLostError } from '#core/data/db/connection';
import { tookNoEffect } from '#core/data/db/sql-state';

const withCode = (code: string) => Object.assign(new Error('failed'), { code });

it.each(['23505', '40001', '40P01', '55P03', '57014', '53200', '22P02', '0A000', 'P0001'])(
  '%s says that nothing took effect',
  (code) => expect(tookNoEffect(withCode(code))).toBe(true),
);

it.each(['08006', '57P01', '57P02', '58030', 'XX000', 'EPIPE', 'EBADF', 'EPERM', 'ECONNRESET', 'CONFLICT', ''])(
  '%j leaves it open',
  (code) => expect(tookNoEffect(withCode(code))).toBe(false),
);

it('what never left took no effect, and what says nothing leaves it open', () => {
  expect(tookNoEffect(new ConnectionLostError('too many statements wait'))).toBe(true);
  expect(tookNoEffect(new Error('Connection terminated unexpectedly'))).toBe(false);
  expect(tookNoEffect(undefined)).toBe(false);
});
