import { expect, it } from 'vitest';

import type { Database } from '#core/data/db/database';
import { perDatabase } from '#core/data/db/per-database';
import { watchDatabase } from '#core/data/db/watched';

const ignore = () => () => undefined;

it('holds one value per database, shared with its watched form', () => {
  const keptOf = perDatabase(() => new Set<string>());
  const [one, other] = [{} as Database, {} as Database];
  const watched = watchDatabase(watchDatabase(one, ignore), ignore);
  expect(keptOf(watched)).toBe(keptOf(one));
  expect(keptOf(watchDatabase(one, ignore))).toBe(keptOf(one));
  expect(keptOf(other)).not.toBe(keptOf(one));
});
