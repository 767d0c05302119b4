import { expect, it } from 'vitest';

import { createKeyedTurns } from '#core/base/concurrency/keyed-turns';

/** Work that notes its start and end, and ends when it is told to. */
function createWork() {
  const notes: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  return {
    notes,
    work: (name: string) => async () => {
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      notes.push(name);
      await end.promise;
      return name;
    },
    end: (name: string) => ends.get(name)!.resolve(),
    fail: (name: string, error: Error) => ends.get(name)!.reject(error),
  };
}

const settled = () => new Promise(setImmediate);

it('runs work of one key in order of arrival, and work of another key meanwhile', async () => {
  const turns = createKeyedTurns();
  const { notes, work, end } = createWork();
  const results = [turns(['a'], work('a1')), turns(['a'], work('a2')), turns(['b'], work('b1'))];
  await settled();
  expect(notes).toEqual(['a1', 'b1']);
  end('a1');
  await settled();
  expect(notes).toEqual(['a1', 'b1', 'a2']);
  ['a2', 'b1'].forEach(end);
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'b1']);
});

it('waits for the work of each of several keys', async () => {
  const turns = createKeyedTurns();
  const { notes, work, end } = createWork();
  const results = [turns(['a'], work('a')), turns(['b'], work('b')), turns(['a', 'b'], work('both'))];
  await settled();
  end('a');
  await settled();
  expect(notes).toEqual(['a', 'b']);
  end('b');
  await settled();
  expect(notes).toEqual(['a', 'b', 'both']);
  end('both');
  await Promise.all(results);
});

it('fails what waits behind a failure, and runs what comes later', async () => {
  const turns = createKeyedTurns();
  const { notes, work, end, fail } = createWork();
  const results = Promise.allSettled([turns(['a'], work('a1')), turns(['a'], work('a2'))]);
  await settled();
  const reason = new Error('away');
  fail('a1', reason);
  expect(await results).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  const later = turns(['a'], work('a3'));
  await settled();
  expect(notes).toEqual(['a1', 'a3']);
  end('a3');
  expect(await later).toBe('a3');
});
