import { describe, expect, it } from 'vitest';

import { expectFailure, outboundToLoopback, serve } from '#core/platform/outbound/testing/outside';

/** A service that never answers, and tells when it was asked so many times. */
async function serveSilence() {
  const waiting: { count: number; resolve(): void }[] = [];
  let asked = 0;
  const origin = await serve(() => {
    asked += 1;
    for (const { count, resolve } of waiting) if (asked >= count) resolve();
  });
  return {
    origin,
    asked: () => asked,
    untilAsked: (count: number) =>
      new Promise<void>((resolve) => (asked >= count ? resolve() : waiting.push({ count, resolve }))),
  };
}

describe('a call that got no permit', () => {
  it('does not count as a failure of the provider, in its message and for its circuit', async () => {
    const [silent, other] = [await serveSilence(), await serveSilence()];
    const well = await serve((_request, response) => void response.end());
    const outbound = outboundToLoopback({ limits: { maxSockets: 2 } });
    const leaving = new AbortController();
    const hang = ({ origin }: { origin: string }) => expectFailure(outbound.fetch(origin, { signal: leaving.signal }));
    const hanging = [hang(silent), hang(other)];
    await Promise.all([silent.untilAsked(1), other.untilAsked(1)]);
    const circuit = 'a provider';
    const permits: string[] = [];
    const onPermit = () => void permits.push('got');
    for (let at = 0; at < 6; at += 1) {
      const failure = await expectFailure(outbound.fetch(well, { circuit, timeoutMs: 5, onPermit }));
      expect([failure.isCallNotMade, failure.isCircuitOpen]).toEqual([true, false]);
    }
    expect(permits).toEqual([]);
    leaving.abort();
    expect((await Promise.all(hanging)).map(({ isCallNotMade }) => isCallNotMade)).toEqual([true, true]);
    expect((await outbound.fetch(well, { circuit, onPermit })).status).toBe(200);
    expect(permits).toEqual(['got']);
  });

  it('is told from one that was not answered in time', async () => {
    const silent = await serveSilence();
    const failure = await expectFailure(outboundToLoopback().fetch(silent.origin, { timeoutMs: 1000 }));
    expect([failure.isCallNotMade, silent.asked()]).toEqual([false, 1]);
  });

  it('is one for mail, too', async () => {
    const silent = await serveSilence();
    const outbound = outboundToLoopback({ limits: { maxSockets: 1, connectMs: 20 } });
    const leaving = new AbortController();
    const hanging = expectFailure(outbound.fetch(silent.origin, { signal: leaving.signal }));
    await silent.untilAsked(1);
    const failure = await expectFailure(outbound.connect({ host: '127.0.0.1', port: 2525, tls: false }));
    expect(failure.isCallNotMade).toBe(true);
    leaving.abort();
    await hanging;
  });
});

describe('the permits of an owner', () => {
  it('are a quarter of all, wherever its calls lead', async () => {
    const silent = [await serveSilence(), await serveSilence()] as const;
    const well = await serve((_request, response) => void response.end());
    const outbound = outboundToLoopback({ limits: { maxSockets: 8 } });
    const leaving = new AbortController();
    const hanging = Array.from({ length: 10 }, (_, at) =>
      expectFailure(outbound.fetch(silent[at % 2]!.origin, { owner: 'greedy', signal: leaving.signal })),
    );
    await Promise.all(silent.map(({ untilAsked }) => untilAsked(1)));
    expect((await outbound.fetch(well, { owner: 'another' })).status).toBe(200);
    const failure = await expectFailure(outbound.fetch(well, { owner: 'greedy', timeoutMs: 5 }));
    expect(failure.isCallNotMade).toBe(true);
    expect(silent.map(({ asked }) => asked())).toEqual([1, 1]);
    leaving.abort();
    await Promise.all(hanging);
    expect((await outbound.fetch(well, { owner: 'greedy' })).status).toBe(200);
  });
});
