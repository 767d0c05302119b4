import { expect, it } from 'vitest';

import { piecesOf } from '#core/log/console';

it('lines go in pieces that a pipe takes as one, a longer one by itself', () => {
  const line = (length: number) => `${'x'.repeat(length - 1)}\n`;
  const euros = `${'€'.repeat(1000)}\n`;
  const text = line(3000) + line(1096) + line(1) + line(5000) + line(10) + euros + euros;
  const pieces = piecesOf(text);
  expect(pieces).toEqual([line(3000) + line(1096), line(1), line(5000), line(10) + euros, euros]);
  expect(pieces.join('')).toBe(text);
  expect(piecesOf('')).toEqual([]);
});
