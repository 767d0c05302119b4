import { beforeEach, describe, expect, it } from 'vitest';

import type { Principal } from '#core/base/access/principal';
import { createPrincipalCache, type PrincipalCache, type Subject } from '#core/base/access/principal-cache';

let now = 0;
let isCurrent = true;
let cache: PrincipalCache;

beforeEach(() => {
  now = 1_000_000;
  isCurrent = true;
  cache = createPrincipalCache({ max: 100, isCurrent: () => isCurrent, now: () => now });
});

const principal = (name: string) => ({ userId: name }) as Principal;
const subjectsOf = (name: string): Subject[] => [`session:${name}`, `user:${name}`, `account:${name}`, 'tenant:t'];

function load(name: string, expiresAt = now + 3_600_000, into = cache): Promise<Principal> {
  return into.load(name, () => Promise.resolve({ principal: principal(name), subjects: subjectsOf(name), expiresAt }));
}

describe('the principal cache', () => {
  it('finds what was loaded, and nothing else', async () => {
    expect(await load('a')).toEqual(principal('a'));
    expect(cache.find('a')).toEqual(principal('a'));
    expect(cache.find('b')).toBe(undefined);
  });

  it.each(['session:a', 'user:a', 'account:a', 'tenant:t'] as const)('forgets by %s', async (subject) => {
    await load('a');
    cache.forget(subject);
    expect(cache.find('a')).toBe(undefined);
  });

  it('forgets only who depends on the subject', async () => {
    await load('a');
    await load('b');
    cache.forget('user:a');
    cache.forget('user:unknown');
    expect(cache.find('a')).toBe(undefined);
    expect(cache.find('b')).toEqual(principal('b'));
  });

  it('forgets all credentials of a subject', async () => {
    for (const name of ['a', 'b', 'c']) await load(name);
    cache.forget('tenant:t');
    expect(['a', 'b', 'c'].map((name) => cache.find(name))).toEqual([undefined, undefined, undefined]);
  });

  it('forgets also what was loaded twice', async () => {
    await load('a');
    await load('a');
    cache.forget('user:a');
    expect(cache.find('a')).toBe(undefined);
  });

  it('does not keep what was forgotten while it loaded', async () => {
    for (const forget of [() => cache.forget('user:a'), () => cache.forget('user:other'), () => cache.clear()]) {
      const answer = Promise.withResolvers<void>();
      const loading = cache.load('a', async () => {
        await answer.promise;
        return { principal: principal('a'), subjects: subjectsOf('a'), expiresAt: now + 1000 };
      });
      forget();
      answer.resolve();
      expect(await loading).toEqual(principal('a'));
      expect(cache.find('a')).toBe(undefined);
    }
    await load('a');
    expect(cache.find('a')).toEqual(principal('a'));
  });

  it('does not keep a refusal', async () => {
    await expect(cache.load('a', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(cache.find('a')).toBe(undefined);
    expect(await load('a')).toEqual(principal('a'));
  });

  it('ends with the credential itself', async () => {
    await load('a', now + 500);
    now += 499;
    expect(cache.find('a')).toEqual(principal('a'));
    now += 1;
    expect(cache.find('a')).toBe(undefined);
  });

  it('looks again after a minute, and after a second while it may have missed something', async () => {
    await load('a');
    now += 59_999;
    expect(cache.find('a')).toEqual(principal('a'));
    now += 1;
    expect(cache.find('a')).toBe(undefined);
    await load('a');
    isCurrent = false;
    now += 999;
    expect(cache.find('a')).toEqual(principal('a'));
    now += 1;
    expect(cache.find('a')).toBe(undefined);
  });

  it('does not take up again what was too old while blind', async () => {
    await load('a');
    isCurrent = false;
    now += 1000;
    expect(cache.find('a')).toBe(undefined);
    isCurrent = true;
    expect(cache.find('a')).toBe(undefined);
  });

  it('holds no more than it may, the longest unused go first, and what went is forgotten too', async () => {
    const small = createPrincipalCache({ max: 3, isCurrent: () => true, now: () => now });
    for (const name of ['a', 'b', 'c']) await load(name, undefined, small);
    small.find('a');
    await load('d', undefined, small);
    expect(['a', 'b', 'c', 'd'].filter((name) => small.find(name) !== undefined)).toEqual(['a', 'c', 'd']);
    small.forget('user:b');
    await load('b', undefined, small);
    small.forget('tenant:t');
    expect(['a', 'b', 'c', 'd'].filter((name) => small.find(name) !== undefined)).toEqual([]);
  });

  it('can be emptied', async () => {
    await load('a');
    cache.clear();
    expect(cache.find('a')).toBe(undefined);
    await load('a');
    cache.forget('user:a');
    expect(cache.find('a')).toBe(undefined);
  });

  it('resized: forgets earlier principals, and holds as many as allowed for as long as allowed', async () => {
    await load('before');
    cache.resize({ max: 2, maxAgeMs: 5000 });
    expect(cache.find('before')).toBe(undefined);
    for (const name of ['a', 'b', 'c']) await load(name);
    expect(['a', 'b', 'c'].map((name) => cache.find(name) !== undefined)).toEqual([false, true, true]);
    now += 4999;
    expect(cache.find('c')).toEqual(principal('c'));
    now += 1;
    expect(cache.find('c')).toBe(undefined);
  });

  it('resized to the same size: forgets no principal', async () => {
    await load('a');
    cache.resize({ max: 100, maxAgeMs: 60_000 });
    expect(cache.find('a')).toEqual(principal('a'));
  });

  it('resized to nothing: loads each time, also what was being loaded', async () => {
    let finish = () => {};
    const late = cache.load('late', async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return { principal: principal('late'), subjects: subjectsOf('late'), expiresAt: now + 1000 };
    });
    cache.resize({ max: 0, maxAgeMs: 60_000 });
    finish();
    expect(await late).toEqual(principal('late'));
    expect(await load('a')).toEqual(principal('a'));
    expect([cache.find('late'), cache.find('a')]).toEqual([undefined, undefined]);
  });

  it('resized: forgets by subject as before', async () => {
    cache.resize({ max: 10, maxAgeMs: 60_000 });
    await load('a');
    cache.forget('user:a');
    expect(cache.find('a')).toBe(undefined);
  });
});
