import { describe, expect, it, vi } from 'vitest';

import { createPasswords } from '#core/base/crypto/passwords';

// Hashes many passwords, on threads that other work of the machine precedes.
vi.setConfig({ testTimeout: 120_000 });

const flow = { tenant: 'a', principal: 'p' };
const passwords = await createPasswords({ memoryKiB: 19_456, passes: 2, maxWaiting: 1000, maxWaitMs: 60_000 });

describe('passwords', () => {
  it('end with those who hash them: what is under way, and what comes later, is refused', async () => {
    const own = await createPasswords({ memoryKiB: 65_536, passes: 10 });
    const underWay = own.hash('correct horse', flow).catch((error: unknown) => error);
    // Its turn comes in a later one of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    await own.close();
    expect(await underWay).toMatchObject({ message: expect.stringContaining('closed') });
    await expect(own.hash('correct horse', flow)).rejects.toThrow('closed');
  });

  it('are hashed with argon2id and a salt of their own', async () => {
    const hashes = [await passwords.hash('correct horse', flow), await passwords.hash('correct horse', flow)];
    for (const hash of hashes) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/);
    expect(new Set(hashes).size).toBe(2);
  });

  it('are the same in every Unicode form', async () => {
    const stored = await passwords.hash('Zo\u00eb \u212b \ufb01n', flow);
    for (const typed of ['Zoe\u0308 A\u030a fin', 'Zo\u00eb \u00c5 fin', 'Ｚo\u00eb\u3000\u212b fin']) {
      expect(await passwords.verify(typed, stored, flow)).toBe(true);
    }
    expect(await passwords.verify('zo\u00eb \u212b fin', stored, flow)).toBe(false);
  });

  it('differ when they differ at character 200', async () => {
    const stored = await passwords.hash('x'.repeat(256), flow);
    const letters = ['a', 'w', 'X', ' ', '\u0301'];
    for (const letter of letters) {
      expect(await passwords.verify(`${'x'.repeat(199)}${letter}${'x'.repeat(56)}`, stored, flow)).toBe(false);
    }
    expect(await passwords.verify('x'.repeat(256), stored, flow)).toBe(true);
  });

  it('of unknown accounts never match, not even the password of the decoy', async () => {
    for (const password of ['', 'correct horse', 'no account has this password']) {
      expect(await passwords.verify(password, undefined, flow)).toBe(false);
    }
  });

  it('are not checked when the turn is not admitted', async () => {
    const stored = await passwords.hash('correct horse', flow);
    const refuse = () => Promise.reject(new Error('locked'));
    await expect(passwords.verify('correct horse', stored, flow, refuse)).rejects.toThrow('locked');
    await expect(passwords.verify('correct horse', undefined, flow, refuse)).rejects.toThrow('locked');
    expect(await passwords.verify('correct horse', stored, flow)).toBe(true);
  });

  it('fail with an error on an invalid hash', async () => {
    await expect(passwords.verify('correct horse', 'plain text', flow)).rejects.toThrow(Error);
  });
});

describe('the queue', () => {
  const settings = { memoryKiB: 64, passes: 1, concurrency: 1, maxWaiting: 64, maxWaitMs: 60_000 };

  it('serves other tenants and addresses next while one fills it, and refuses only those of the one', async () => {
    const own = await createPasswords(settings);
    const done: string[] = [];
    const outcomes: Promise<void>[] = [];
    const hash = async (tenant: string) => {
      const refusal = await own.hash('correct horse', { tenant, principal: 'p' }).then(
        () => undefined,
        (error: unknown) => error,
      );
      done.push(refusal === undefined ? tenant : `${tenant} refused`);
      refusals.push(...(refusal === undefined ? [] : [refusal]));
    };
    const refusals: unknown[] = [];
    const add = (tenant: string, count: number) => {
      for (let at = 0; at < count; at++) outcomes.push(hash(tenant));
    };
    add('flood', 120);
    add('second flood', 120);
    for (const quiet of ['b', 'c', 'd']) add(quiet, 1);
    await Promise.all(outcomes);
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ status: 503, details: { code: 'LOGIN_BUSY' }, retryAfterSeconds: 2 });
    const served = done.filter((name) => !name.endsWith('refused'));
    for (const quiet of ['b', 'c', 'd']) expect(served.slice(0, 15)).toContain(quiet);
    expect(done.filter((name) => name === 'flood refused').length).toBeGreaterThanOrEqual(120 - 3 - 32);
    expect(served.length).toBeLessThanOrEqual(3 + 64);
    await own.close();
  });

  it('refuses what waited too long, and only that', async () => {
    const own = await createPasswords({ ...settings, maxWaitMs: 5 });
    const [gate, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = Array.from({ length: 3 }, () => own.verify('x', undefined, flow, () => gate.promise));
    own.hash('x', flow).catch(checked.reject);
    await expect(checked.promise).rejects.toMatchObject({ status: 503 });
    gate.resolve();
    expect(await Promise.all(held)).toEqual([false, false, false]);
    expect(await own.hash('x', flow)).toContain('argon2id');
    await own.close();
  });
});
