import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { createGreeter, greet as greetAt, status } from '#modules/connectors/calls/testing/providers';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { storedConnector } from '#modules/connectors/testing/connectors';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// The clock stands, so that no pause ends under a test.
const start = Date.parse('2026-03-31T12:00:00Z');
let time = start;
const test = useService({
  ownDatabase: true,
  environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' },
  now: () => new Date(time),
});
let tenant: Tenant;

beforeEach(async () => {
  time = start;
  tenant = await createTenant(test);
});

const provide = (rest: Record<string, unknown> = {}) => createGreeter(test, tenant.admin.token, rest);
const greet = (rest: Partial<Parameters<typeof greetAt>[1]> = {}) =>
  greetAt(test, { tenantId: tenant.tenantId, ...rest });
const stored = ({ id }: { id: string }) => storedConnector(test, tenant.tenantId, id);
const refusal = (retryAfterSeconds: number | undefined) => ({
  status: 502,
  code: 'UPSTREAM_ERROR',
  retryAfterSeconds,
});
const ejected = async () => {
  const only = await provide();
  only.answer(status(500));
  for (let at = 0; at < 5; at += 1) await expect(greet()).rejects.toMatchObject(refusal(undefined));
  expect(await stored(only)).toMatchObject({ auto_disabled: true, ejections: 1 });
  return only;
};

describe('the only provider, paused after failures', () => {
  it('is still called as the last resort, at most once in five seconds, and recovers after a success', async () => {
    const only = await ejected();
    await expect(greet()).rejects.toMatchObject(refusal(undefined));
    for (let at = 0; at < 3; at += 1) await expect(greet()).rejects.toMatchObject(refusal(5));
    expect(only.asked).toHaveLength(6);
    time += 5000;
    only.heal();
    await greet();
    expect(await stored(only)).toMatchObject({ status: 'active', auto_disabled: false, consecutive_failures: 0 });
    await greet();
    expect(only.asked).toHaveLength(8);
  });

  it('is called by one caller at a time', async () => {
    const only = await ejected();
    const held: ServerResponse[] = [];
    only.answer((response) => void held.push(response));
    const calls = Array.from({ length: 10 }, () => greet().catch((error: unknown) => error));
    await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 30_000 });
    time += 6000;
    await expect(greet()).rejects.toMatchObject(refusal(5));
    held[0]!.end('hello');
    const served = (await Promise.all(calls)).filter((one) => !(one instanceof Error));
    expect([served.length, only.asked.length]).toEqual([1, 6]);
  });

  it('releases the probe soon after its caller disconnected', async () => {
    const only = await ejected();
    const leaving = new AbortController();
    const reason = new Error('left');
    only.answer(() => leaving.abort(reason));
    await expect(greet({ signal: leaving.signal })).rejects.toBe(reason);
    only.heal();
    await expect(greet()).rejects.toMatchObject(refusal(5));
    time += 5000;
    expect((await greet()).result).toBe('hello');
  });
});

describe('the only provider, paused for other tenants', () => {
  it('is called with own credentials within their circuit, without taking the probe of other tenants', async () => {
    const only = await ejected();
    await override(test, tenant.tenantId, { credentials: { [only.key]: { token: 'of the tenant' } } });
    for (let at = 0; at < 8; at += 1) await expect(greet()).rejects.toMatchObject({ status: 502 });
    expect(only.asked.slice(5)).toEqual(Array.from({ length: 5 }, () => 'of the tenant'));
    expect(await stored(only)).toMatchObject({ lease_until: null, consecutive_failures: 5 });
  });
});

describe('the only provider, paused by Retry-After', () => {
  it('is not called before Retry-After has passed', async () => {
    const only = await provide();
    only.answer(status(429, { 'retry-after': '120' }));
    await expect(greet()).rejects.toMatchObject({ ...refusal(120), details: null });
    time += 20_000;
    const left = { ...refusal(100), details: { asked: false } };
    for (let at = 0; at < 3; at += 1) await expect(greet()).rejects.toMatchObject(left);
    expect(only.asked).toHaveLength(1);
    time += 100_000;
    only.heal();
    expect((await greet()).result).toBe('hello');
  });

  it('is not called, whether it is also paused after failures or not', async () => {
    const only = await ejected();
    time += 30_000;
    only.answer(status(429, { 'retry-after': '300' }));
    await expect(greet()).rejects.toMatchObject(refusal(300));
    time += 60_000;
    await expect(greet()).rejects.toMatchObject(refusal(240));
    expect(only.asked).toHaveLength(6);
  });

  it('is skipped only for the tenant whose own credentials were used', async () => {
    const only = await provide();
    await override(test, tenant.tenantId, { credentials: { [only.key]: { token: 'of the tenant' } } });
    only.answer(status(429, { 'retry-after': '60' }));
    await expect(greet()).rejects.toMatchObject(refusal(60));
    only.heal();
    await expect(greet()).rejects.toMatchObject(refusal(60));
    expect(only.asked).toEqual(['of the tenant']);
    expect(await stored(only)).toMatchObject({ retry_at: null });
    await override(test, tenant.tenantId, {});
    expect((await greet()).result).toBe('hello');
    await override(test, tenant.tenantId, { credentials: { [only.key]: { token: 'of the tenant' } } });
    time += 60_000;
    expect((await greet()).result).toBe('hello');
    expect(only.asked).toEqual(['of the tenant', 'of the connector', 'of the tenant']);
  });
});
