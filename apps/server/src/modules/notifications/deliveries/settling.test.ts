import { expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Settlement } from '#modules/notifications/deliveries/settlement.rules';
import { settling } from '#modules/notifications/deliveries/settling';

const settlement = (): Settlement => ({
  id: newId(),
  status: 'sent',
  reason: 'delivered',
  layer: 'built_in',
  preferenceId: null,
  dueAt: '2026-01-01T00:00:00.000Z',
  attempts: 1,
  interruptions: 0,
});

const gather = () => Promise.resolve();

/** Writes that end when they are told to. */
function writes() {
  const begun: { settlements: readonly Settlement[]; end: () => void; fail: (error: Error) => void }[] = [];
  const write = (settlements: readonly Settlement[]) =>
    new Promise<void>((resolve, reject) => void begun.push({ settlements, end: resolve, fail: reject }));
  return { begun, write };
}

it('writes the first outcome at once, and later ones in one batch', async () => {
  const { begun, write } = writes();
  const settle = settling(write, { retryForMs: 1000, gather });
  const [first, second, third] = [settlement(), settlement(), settlement()];
  const written = settle(first);
  await expect.poll(() => begun.length).toBe(1);
  const rest = [settle(second), settle(third)];
  expect(begun.map(({ settlements }) => settlements)).toEqual([[first]]);
  begun[0]!.end();
  await written;
  await expect.poll(() => begun.length).toBe(2);
  expect(begun[1]!.settlements).toEqual([second, third]);
  begun[1]!.end();
  await Promise.all(rest);
});

it('writes together what comes while it is gathered', async () => {
  const { begun, write } = writes();
  const enough = Promise.withResolvers<void>();
  const settle = settling(write, { retryForMs: 1000, gather: () => enough.promise });
  const [first, second] = [settlement(), settlement()];
  const written = [settle(first)];
  await Promise.resolve();
  written.push(settle(second));
  enough.resolve();
  await expect.poll(() => begun.length).toBe(1);
  expect(begun[0]!.settlements).toEqual([first, second]);
  begun[0]!.end();
  await Promise.all(written);
});

it('a write that fails is that of those it was for', async () => {
  const { begun, write } = writes();
  const settle = settling(write, { retryForMs: 1000, gather });
  const written = settle(settlement()).catch((error: unknown) => error);
  await expect.poll(() => begun.length).toBe(1);
  const next = settle(settlement());
  const refused = new Error('refused');
  begun[0]!.fail(refused);
  expect(await written).toBe(refused);
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.end();
  await next;
});

it('a write is retried until the deadline while the database is lost', async () => {
  const { begun, write } = writes();
  const away = Object.assign(new Error('away'), { code: '57P01' });
  const written = settling(write, { retryForMs: 0, gather })(settlement()).catch((error: unknown) => error);
  await expect.poll(() => begun.length).toBe(1);
  begun[0]!.fail(away);
  expect(await written).toBe(away);
  const kept = settling(write, { retryForMs: 60_000, gather })(settlement());
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.fail(away);
  await expect.poll(() => begun.length, { timeout: 30_000 }).toBe(3);
  begun[2]!.end();
  await kept;
});

it.each(['40001', '40P01'])('a write that failed because of a concurrent one (%s) is retried', async (code) => {
  const { begun, write } = writes();
  const written = settling(write, { retryForMs: 60_000, gather })(settlement());
  await expect.poll(() => begun.length).toBe(1);
  begun[0]!.fail(Object.assign(new Error('busy'), { code }));
  await expect.poll(() => begun.length, { timeout: 30_000 }).toBe(2);
  begun[1]!.end();
  await written;
});

it('a refused outcome does not block the others of its batch', async () => {
  const [first, refused, fine] = [settlement(), settlement(), settlement()];
  const error = Object.assign(new Error('refused'), { code: '22003' });
  const seen: (readonly Settlement[])[] = [];
  const settle = settling(
    (settlements) => {
      seen.push(settlements);
      return settlements.includes(refused) ? Promise.reject(error) : Promise.resolve();
    },
    { retryForMs: 1000, gather },
  );
  const ended = await Promise.allSettled([settle(first), settle(refused), settle(fine)]);
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(seen.slice(-3)).toEqual([[first], [refused], [fine]]);
});
