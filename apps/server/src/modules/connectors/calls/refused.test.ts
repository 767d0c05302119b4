import { beforeEach, describe, expect, it } from 'vitest';

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
const greet = () => greetAt(test, { tenantId: tenant.tenantId, characters: 7 });
const stored = ({ id }: { id: string }) => storedConnector(test, tenant.tenantId, id);
const refused = (retryAfterSeconds?: number) => ({
  status: 422,
  code: 'UNPROCESSABLE_ENTITY',
  details: { code: 'REFUSED_BY_PROVIDERS' },
  retryAfterSeconds,
});
const failed = { status: 502, code: 'UPSTREAM_ERROR' };

/** A connector that is paused after failures and refuses all later content. */
const ejected = async (rest: Record<string, unknown> = {}) => {
  const one = await provide(rest);
  one.answer(status(500));
  for (let at = 0; at < 5; at += 1) await expect(greet()).rejects.toMatchObject(failed);
  one.answer(status(400));
  return one;
};

describe('content that all connectors refuse', () => {
  it.each([400, 413, 414, 422])('does not count as a failure of the provider: %i', async (code) => {
    const both = [await provide({ priority: 1 }), await provide()];
    for (const one of both) one.answer(status(code));
    for (let at = 0; at < 6; at += 1) await expect(greet()).rejects.toMatchObject(refused());
    for (const one of both) {
      expect(one.asked).toHaveLength(6);
      expect(await stored(one)).toMatchObject({ status: 'unknown', consecutive_failures: 0, auto_disabled: false });
    }
  });

  it('uses no quota', async () => {
    await override(test, tenant.tenantId, { quotaLimits: { requests_per_day: 1, characters_per_day: 7 } });
    const one = await provide();
    one.answer(status(422));
    for (let at = 0; at < 3; at += 1) await expect(greet()).rejects.toMatchObject(refused());
    one.heal();
    expect((await greet()).result).toBe('hello');
  });

  it('is refused in the same way with own credentials', async () => {
    const one = await provide();
    await override(test, tenant.tenantId, { credentials: { [one.key]: { token: 'of the tenant' } } });
    one.answer(status(400));
    await expect(greet()).rejects.toMatchObject(refused());
    expect(one.asked).toEqual(['of the tenant']);
  });
});

describe('content that one connector refuses', () => {
  it('is offered to the next connector', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(400));
    expect((await greet()).provider.key).toBe(second.key);
  });

  it.each([
    ['before', 1],
    ['after', 99],
  ])('502: a connector fails %s that might have accepted it', async (_when, priority) => {
    const [refusing, failing] = [await provide(), await provide({ priority })];
    refusing.answer(status(400));
    failing.answer(status(500));
    await expect(greet()).rejects.toMatchObject(failed);
    expect([refusing, failing].map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  it('can be accepted later by a paused connector, which is not called early', async () => {
    const off = await ejected();
    const refusing = await provide({ priority: 1 });
    refusing.answer(status(400));
    time += 10_000;
    await expect(greet()).rejects.toMatchObject(refused(10));
    expect(off.asked).toHaveLength(5);
    time += 20_000;
    await expect(greet()).rejects.toMatchObject(refused());
    expect(off.asked).toHaveLength(6);
  });

  it('can be accepted later by a connector paused by Retry-After', async () => {
    const [patient, refusing] = [await provide({ priority: 1 }), await provide()];
    patient.answer(status(429, { 'retry-after': '120' }));
    await greet();
    refusing.answer(status(400));
    time += 20_000;
    await expect(greet()).rejects.toMatchObject(refused(100));
    expect(patient.asked).toHaveLength(1);
  });
});

describe('the last resort', () => {
  it('stays paused, and the next caller may probe it after five seconds', async () => {
    const only = await ejected();
    await expect(greet()).rejects.toMatchObject(refused());
    await expect(greet()).rejects.toMatchObject({ ...failed, retryAfterSeconds: 5 });
    expect(await stored(only)).toMatchObject({ auto_disabled: true, consecutive_failures: 5, ejections: 1 });
    time += 5000;
    only.heal();
    expect((await greet()).result).toBe('hello');
    expect(await stored(only)).toMatchObject({ auto_disabled: false, status: 'active' });
  });

  it('is followed by the next connector if it refuses the content', async () => {
    const first = await ejected({ priority: 1 });
    await test.call('POST', `/api/v1/secure/ai/providers/${first.id}/disable`, { token: tenant.admin.token });
    const second = await ejected();
    const db = test.service.services.database.tenant(tenant.tenantId);
    await db.interactive.all({
      kind: 'write',
      text: 'update connectors set enabled = true where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    second.heal();
    expect((await greet()).provider.key).toBe(second.key);
    expect([first.asked.length, second.asked.length]).toEqual([6, 6]);
  });

  it('is a normal probe after the pause has ended', async () => {
    const only = await ejected();
    time += 30_000;
    await expect(greet()).rejects.toMatchObject(refused());
    expect(await stored(only)).toMatchObject({ auto_disabled: true, ejections: 1 });
    time += 5000;
    only.heal();
    await greet();
    expect(await stored(only)).toMatchObject({ auto_disabled: false, ejections: 0 });
  });
});
