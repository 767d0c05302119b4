import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import { createLogStore } from '#core/data/log/log-store';
import { lengthOf } from '#test/support/binary-arrays';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A database that takes all batches and tells of how many lines each was. */
function setUp() {
  const batches: number[] = [];
  const batch = ([lines]: readonly Query<unknown>[]) => {
    const column = lines!.values.findLast((value) => Buffer.isBuffer(value)) as Buffer;
    batches.push(lengthOf(column));
    return Promise.resolve([]);
  };
  const database = { platform: () => ({ interactive: { batch } }) } as unknown as Database;
  const ignore = () => undefined;
  const report = { dropped: ignore, failed: ignore, refused: ignore };
  const store = createLogStore({ report });
  store.setPace({ batchSize: 500, flushInterval: 1000 });
  store.connect(database);
  const add = (count: number) => {
    for (let at = 0; at < count; at++) store.add(line());
  };
  return { store, batches, add };
}

const line = () => ({
  at: 0,
  id: newId(),
  level: 30,
  service: 'http',
  message: '',
  tenantId: null,
  userId: null,
  requestId: null,
  context: '{}',
  size: 1,
});

it('full batches are written at once, and what is left over waits a moment for more', async () => {
  const { batches, add } = setUp();
  add(1200);
  await vi.advanceTimersByTimeAsync(10);
  expect(batches).toEqual([500, 500]);
  add(50);
  await vi.advanceTimersByTimeAsync(200);
  expect(batches).toEqual([500, 500, 250]);
});

it('a few lines wait for as long as is configured', async () => {
  const { store, batches, add } = setUp();
  store.setPace({ batchSize: 500, flushInterval: 3000 });
  add(3);
  await vi.advanceTimersByTimeAsync(2900);
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(batches).toEqual([3]);
});

it('flush and close both write all lines', async () => {
  const { store, batches, add } = setUp();
  add(501);
  await store.flush();
  expect(batches).toEqual([500, 1]);
  add(2);
  await store.close();
  expect(batches).toEqual([500, 1, 2]);
});
