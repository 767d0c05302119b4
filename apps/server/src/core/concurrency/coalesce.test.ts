import { expect, it } from 'vitest';

import { coalesce } from '#core/concurrency/coalesce';

it('runs once for all callers who ask while another run is under way, and never two at a time', async () => {
  let running = 0;
  let runs = 0;
  const waits: (() => void)[] = [];
  const ask = coalesce(async () => {
    runs += 1;
    expect(++running).toBe(1);
    await new Promise<void>((resolve) => waits.push(resolve));
    running -= 1;
  });
  const first = ask();
  await Promise.resolve();
  await Promise.resolve();
  const later = Array.from({ length: 50 }, () => ask());
  expect(new Set(later).size).toBe(1);
  waits.shift()!();
  await first;
  await new Promise(setImmediate);
  waits.shift()!();
  await Promise.all(later);
  expect(runs).toBe(2);
});

it('runs again after a failure, which only its own callers see', async () => {
  let fails = true;
  const ask = coalesce(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve()));
  const failed = ask();
  await expect(failed).rejects.toThrow('away');
  fails = false;
  await expect(ask()).resolves.toBeUndefined();
});
