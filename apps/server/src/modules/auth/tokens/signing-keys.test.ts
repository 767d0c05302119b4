import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import { createClock, day } from '#modules/auth/testing/steps';
import { createAccessTokens } from '#modules/auth/tokens/signing-keys';
import { useService } from '#test/support/harness';

const test = useService();

const claims = () => ({ accountId: newId(), tenantId: newId(), sessionId: newId(), userId: newId() });
const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid as string;

/** A separate process with respect to keys; `loads` counts its queries, and can make them fail. */
function createProcess(now: () => Date) {
  const { database, encryption } = test.service.services;
  const loads = { count: 0, fail: false };
  const counting = new Proxy(database, {
    get: (target, name: keyof Database) => {
      if (name === 'credential') loads.count += 1;
      if (loads.fail) throw new Error('the database is away');
      return target[name];
    },
  });
  const options = { database: counting, encryption, issuer: 'http://atrium.test', lifetimeSeconds: 900, now };
  return { tokens: createAccessTokens(options), loads };
}

// Far in the future, where no other suite has keys; each test later than the one before.
let years = 10;
const createFuture = () => createClock(new Date(Date.now() + (years += 10) * 365 * day));

describe('signing keys', () => {
  it('are created once, for any number of concurrent first requests', async () => {
    const { tokens } = createProcess(createFuture().now);
    const issued = await Promise.all(Array.from({ length: 20 }, () => tokens.issue(claims())));
    expect(new Set(issued.map((one) => kidOf(one.accessToken))).size).toBe(1);
  });

  it('rotate after 90 days; the old one is accepted for another day', async () => {
    const clock = createFuture();
    const { tokens } = createProcess(clock.now);
    const first = kidOf((await tokens.issue(claims())).accessToken);
    clock.advance(89.9 * day);
    const { accessToken } = await tokens.issue(claims());
    expect(kidOf(accessToken)).toBe(first);
    clock.advance(0.1 * day);
    expect(kidOf((await tokens.issue(claims())).accessToken)).not.toBe(first);
    clock.advance(-0.1 * day);
    expect(await tokens.verify(accessToken)).toMatchObject({ tenantId: expect.any(String) });
  });

  it('are shared: a token of one process is accepted by another at once', async () => {
    const { now } = createFuture();
    const [first, second] = [createProcess(now).tokens, createProcess(now).tokens];
    await second.issue(claims());
    await expect(second.verify((await first.issue(claims())).accessToken)).resolves.toBeDefined();
  });

  it('of another process are accepted, although it rotated right after our query', async () => {
    const { now } = createFuture();
    const [first, second] = [createProcess(now).tokens, createProcess(now).tokens];
    // Both find no key at the same time, so each creates one.
    const [ofFirst, ofSecond] = await Promise.all([first.issue(claims()), second.issue(claims())]);
    await expect(first.verify(ofSecond.accessToken)).resolves.toBeDefined();
    await expect(second.verify(ofFirst.accessToken)).resolves.toBeDefined();
  });

  describe('of another process', () => {
    /** Two processes; the second has created a key that the first has not read yet. */
    async function setUp() {
      const clock = createFuture();
      const { tokens: first, loads } = createProcess(clock.now);
      const published = async () => (await first.publicKeys()).keys.map((key) => key.kid);
      expect(await published()).toHaveLength(1);
      const { tokens: second } = createProcess(() => new Date(clock.now().getTime() + 90 * day));
      const { accessToken } = await second.issue(claims());
      return { clock, first, loads, published, accessToken, kid: kidOf(accessToken) };
    }

    it('are published within 5 seconds, with no more queries than that', async () => {
      const { clock, loads, published, kid } = await setUp();
      const before = loads.count;
      for (let count = 0; count < 20; count++) expect(await published()).not.toContain(kid);
      expect(loads.count).toBe(before);
      clock.advance(5001);
      await Promise.all(Array.from({ length: 20 }, published));
      expect(await published()).toContain(kid);
      expect(loads.count - before).toBe(1);
    });

    it('are published at once after they were used', async () => {
      const { first, published, accessToken, kid } = await setUp();
      // It is not valid before the clock of the process that created it.
      await expect(first.verify(accessToken)).rejects.toThrow('not valid');
      expect(await published()).toContain(kid);
    });

    it('do not prevent the publication of known ones while the database is unavailable', async () => {
      const { clock, loads, published, kid } = await setUp();
      clock.advance(5001);
      loads.fail = true;
      expect(await published()).toHaveLength(1);
      loads.fail = false;
      clock.advance(5001);
      expect(await published()).toContain(kid);
    });
  });

  it('that are invented cause no load on the database', async () => {
    const { now } = createFuture();
    const { tokens, loads } = createProcess(now);
    const { accessToken } = await tokens.issue(claims());
    const [, payload, signature] = accessToken.split('.');
    const before = loads.count;
    const refused = Array.from({ length: 50 }, () => {
      const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', typ: 'at+jwt', kid: newId() })).toString('base64url');
      return tokens.verify(`${header}.${payload}.${signature}`).then(
        () => false,
        () => true,
      );
    });
    expect((await Promise.all(refused)).every(Boolean)).toBe(true);
    expect(loads.count - before).toBe(1);
  });
});
