import { describe, expect, it } from 'vitest';

import { assertOwnOrigin } from '#modules/mcp/origins';

describe('assertOwnOrigin', () => {
  const settings = { publicUrl: 'https://atrium.example/base', corsOrigins: ['https://friend.example'] };

  it.each([undefined, 'https://atrium.example', 'https://friend.example'])('takes %s', (origin) => {
    expect(() => assertOwnOrigin(origin, settings)).not.toThrow();
  });

  it.each(['', 'null', 'http://atrium.example', 'https://atrium.example:444', 'https://friend.example.evil.example'])(
    'refuses %j',
    (origin) => {
      expect(() => assertOwnOrigin(origin, settings)).toThrow(expect.objectContaining({ status: 403 }));
    },
  );
});
