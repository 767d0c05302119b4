import { describe, expect, it } from 'vitest';

import { createPasswords, createTurns } from '#core/crypto/passwords';

const passwords = await createPasswords({ memoryKiB: 19_456, passes: 2, maxWaiting: 1000, maxWaitMs: 60_000 });

describe('passwords', () => {
  it('end with those who hash them: what is under way, and what comes later, is refused', async () => {
    const own = await createPasswords({ memoryKiB: 65_536, passes: 10 });
    const underWay = own.hash('correct horse').catch((error: unknown) => error);
    // Its turn comes in a later one of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    await own.close();
    expect(await underWay).toMatchObject({ message: expect.stringContaining('closed') });
    await expect(own.hash('correct horse')).rejects.toThrow('closed');
  });

  it('are hashed with argon2id and a salt of their own', async () => {
    const hashes = [await passwords.hash('correct horse'), await passwords.hash('correct horse')];
    for (const hash of hashes) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/);
    expect(new Set(hashes).size).toBe(2);
  });

  it('are the same in every Unicode form', async () => {
    const stored = await passwords.hash('Zo\u00eb \u212b \ufb01n');
    for (const typed of ['Zoe\u0308 A\u030a fin', 'Zo\u00eb \u00c5 fin', 'Ｚo\u00eb\u3000\u212b fin']) {
      expect(await passwords.verify(typed, stored)).toBe(true);
    }
    expect(await passwords.verify('zo\u00eb \u212b fin', stored)).toBe(false);
  });

  it('differ when they differ at character 200', async () => {
    const stored = await passwords.hash('x'.repeat(256));
    const letters = ['a', 'w', 'X', ' ', '\u0301'];
    for (const letter of letters) {
      expect(await passwords.verify(`${'x'.repeat(199)}${letter}${'x'.repeat(56)}`, stored)).toBe(false);
    }
    expect(await passwords.verify('x'.repeat(256), stored)).toBe(true);
  });

  it('of nobody never match, not even the one that the decoy was made of', async () => {
    for (const password of ['', 'correct horse', 'no account has this password']) {
      expect(await passwords.verify(password, undefined)).toBe(false);
    }
  });

  it('are not checked when the turn is not admitted', async () => {
    const stored = await passwords.hash('correct horse');
    const refuse = () => Promise.reject(new Error('locked'));
    await expect(passwords.verify('correct horse', stored, refuse)).rejects.toThrow('locked');
    await expect(passwords.verify('correct horse', undefined, refuse)).rejects.toThrow('locked');
    expect(await passwords.verify('correct horse', stored)).toBe(true);
  });

  it('fail loudly on what is no hash', async () => {
    await expect(passwords.verify('correct horse', 'plain text')).rejects.toThrow(Error);
  });
});

describe('the queue', () => {
  const gate = () => Promise.withResolvers<void>();

  it('refuses with 503 and Retry-After beyond its bound', async () => {
    const turns = createTurns(1, 2, 60_000);
    const open = gate();
    const work = () => turns.take(() => open.promise);
    const accepted = [work(), work(), work()];
    await expect(work()).rejects.toMatchObject({
      status: 503,
      details: { code: 'LOGIN_BUSY' },
      retryAfterSeconds: 2,
    });
    open.resolve();
    await Promise.all(accepted);
    await expect(turns.take(() => Promise.resolve('free again'))).resolves.toBe('free again');
  });

  it('refuses who waited too long, and only those', async () => {
    const turns = createTurns(1, 10, 5);
    const open = gate();
    const running = turns.take(() => open.promise);
    await expect(turns.take(() => Promise.resolve())).rejects.toMatchObject({ status: 503 });
    open.resolve();
    await running;
    await expect(turns.take(() => Promise.resolve('free again'))).resolves.toBe('free again');
  });

  it('runs no more at once than it may, in the order they came, whoever fails', async () => {
    const turns = createTurns(3, 100, 60_000);
    const order: number[] = [];
    let [running, most] = [0, 0];
    const work = (at: number) =>
      turns.take(async () => {
        order.push(at);
        most = Math.max(most, ++running);
        await Promise.resolve();
        running -= 1;
        if (at % 3 === 0) throw new Error('failed');
      });
    const results = await Promise.allSettled(Array.from({ length: 60 }, (_, at) => work(at)));
    expect(results.filter((result) => result.status === 'rejected')).toHaveLength(20);
    expect({ most, order }).toEqual({ most: 3, order: Array.from({ length: 60 }, (_, at) => at) });
  });
});
