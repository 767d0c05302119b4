import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { expectFailure, outboundToLoopback, serve } from '#core/platform/outbound/testing/outside';

/** A service that answers with this status, and counts. */
async function serveStatus(status: number) {
  const service = { status, requests: 0, origin: '', hangs: false };
  service.origin = await serve((request, response) => {
    service.requests += 1;
    if (service.hangs) return;
    if (service.status === 0) request.socket.destroy();
    else response.writeHead(service.status).end();
  });
  return service;
}

/** Stops the clock until it is moved. */
function holdClock(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.setSystemTime(Date.now() + ms);
}

const circuit = 'a provider';
const openMs = 10_000;

describe('a circuit', () => {
  it.each([
    ['no answer', 0],
    ['500', 500],
    ['503', 503],
  ])('opens after five times %s in a row, only for calls that name it', async (_what, status) => {
    const service = await serveStatus(status);
    const outbound = outboundToLoopback();
    const call = (name?: string) => outbound.fetch(service.origin, { circuit: name }).catch((error: unknown) => error);
    for (let at = 0; at < 5; at += 1) await call(circuit);
    expect(service.requests).toBe(5);
    const refusal = await expectFailure(outbound.fetch(service.origin, { circuit }));
    expect(refusal.isCircuitOpen).toBe(true);
    expect((refusal.cause as Error).message).toContain('circuit is open');
    expect(refusal.message).toBe('The outside service gave no usable answer.');
    expect(service.requests).toBe(5);
    await call('another');
    await call();
    expect(service.requests).toBe(7);
  });

  it.each([200, 302, 400, 401, 404, 408, 429, 499])('stays closed however often it is answered %i', async (status) => {
    const service = await serveStatus(status);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 20; at += 1) expect((await outbound.fetch(service.origin, { circuit })).status).toBe(status);
    expect(service.requests).toBe(20);
  });

  it('says until when it is open, of those who name it only, and while one call finds out', async () => {
    const move = holdClock();
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 4; at += 1) await outbound.fetch(service.origin, { circuit });
    expect(outbound.circuitOpenUntil(circuit)).toBeUndefined();
    await outbound.fetch(service.origin, { circuit });
    const until = new Date(Date.now() + openMs);
    move(openMs - 1);
    expect([outbound.circuitOpenUntil(circuit), outbound.circuitOpenUntil('another')]).toEqual([until, undefined]);
    move(1);
    expect(outbound.circuitOpenUntil(circuit)).toBeUndefined();
    service.hangs = true;
    const leaving = new AbortController();
    const call = outbound.fetch(service.origin, { circuit, signal: leaving.signal }).catch((error: unknown) => error);
    expect(outbound.circuitOpenUntil(circuit)).toEqual(until);
    leaving.abort();
    await call;
  });

  it('counts failures in a row: a success resets the count', async () => {
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 12; at += 1) {
      service.status = at % 5 === 4 ? 200 : 500;
      await outbound.fetch(service.origin, { circuit });
    }
    expect(service.requests).toBe(12);
  });

  it('counts a repeated call once', async () => {
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    service.status = 503;
    for (let at = 0; at < 5; at += 1) await outbound.fetch(service.origin, { circuit, isIdempotent: true });
    expect(service.requests).toBe(6);
    expect((await expectFailure(outbound.fetch(service.origin, { circuit }))).isCircuitOpen).toBe(true);
  });

  it('counts time that is over, and not a call that its caller gave up', async () => {
    const service = await serveStatus(200);
    service.hangs = true;
    const outbound = outboundToLoopback();
    for (let at = 0; at < 8; at += 1) {
      const cancel = new AbortController();
      const call = expectFailure(outbound.fetch(service.origin, { circuit, signal: cancel.signal }));
      cancel.abort();
      expect((await call).isCircuitOpen).toBe(false);
    }
    const isRefused = async () =>
      (await expectFailure(outbound.fetch(service.origin, { circuit, timeoutMs: 100 }))).isCircuitOpen;
    let failures = 0;
    // On a busy machine there may be more: what was not sent in time counts for nothing.
    while (!(await isRefused())) failures += 1;
    expect(failures).toBeGreaterThanOrEqual(5);
  });

  it('does not count what could not be sent', async () => {
    const service = await serveStatus(200);
    const outbound = outboundToLoopback();
    const headers = { authorization: 'canary\r\nx: y' };
    for (let at = 0; at < 8; at += 1)
      await expectFailure(outbound.fetch(service.origin, { circuit, headers, isIdempotent: true }));
    expect((await outbound.fetch(service.origin, { circuit })).status).toBe(200);
  });

  it('lets one through after 10 s, and refuses all others meanwhile', async () => {
    const pass = holdClock();
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 5; at += 1) await outbound.fetch(service.origin, { circuit });
    pass(openMs - 1);
    expect((await expectFailure(outbound.fetch(service.origin, { circuit }))).isCircuitOpen).toBe(true);
    pass(1);
    service.status = 200;
    const calls = Array.from({ length: 10 }, () => outbound.fetch(service.origin, { circuit }).catch(() => undefined));
    const answered = (await Promise.all(calls)).filter((answer) => answer?.status === 200);
    expect([answered.length, service.requests]).toEqual([1, 6]);
    expect((await outbound.fetch(service.origin, { circuit })).status).toBe(200);
  });

  it.each([
    [
      'fails',
      async (origin: string, outbound: ReturnType<typeof outboundToLoopback>) => {
        expect((await outbound.fetch(origin, { circuit })).status).toBe(500);
      },
    ],
    [
      'is given up',
      async (origin: string, outbound: ReturnType<typeof outboundToLoopback>) => {
        await expectFailure(outbound.fetch(origin, { circuit, signal: AbortSignal.abort() }));
      },
    ],
  ])('stays open for another 10 s when the one that was let through %s', async (_what, probe) => {
    const pass = holdClock();
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 5; at += 1) await outbound.fetch(service.origin, { circuit });
    pass(openMs);
    await probe(service.origin, outbound);
    service.status = 200;
    expect((await expectFailure(outbound.fetch(service.origin, { circuit }))).isCircuitOpen).toBe(true);
    pass(openMs);
    expect((await outbound.fetch(service.origin, { circuit })).status).toBe(200);
  });

  it('of which there are too many is forgotten when it was not used for longest', async () => {
    const service = await serveStatus(500);
    const outbound = outboundToLoopback();
    for (let at = 0; at < 5; at += 1) await outbound.fetch(service.origin, { circuit });
    for (let at = 0; at < 1000; at += 1)
      await expectFailure(outbound.fetch('http://10.0.0.1/', { circuit: `other ${at}` }));
    expect((await outbound.fetch(service.origin, { circuit })).status).toBe(500);
  });
});
