import { beforeEach, describe, expect, it } from 'vitest';

import { createGreeter, greet as greetAt, status } from '#modules/connectors/calls/testing/providers';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { systemTenantId } from '#modules/connectors/testing/connectors';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// The clock stands, so that no period ends under a test.
const start = Date.parse('2026-03-31T23:59:20Z');
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

const greet = (rest: Partial<Parameters<typeof greetAt>[1]> = {}) =>
  greetAt(test, { tenantId: tenant.tenantId, ...rest });
const quotaLimits = (given: Record<string, unknown>, tenantId = tenant.tenantId) =>
  override(test, tenantId, { quotaLimits: given });
const used = async () => {
  const rows = await test.service.services.database.tenant(tenant.tenantId).all<Record<string, any>>({
    kind: 'read',
    text: 'select unit, period, used from operation_quota where tenant_id = $1 order by starts_at, unit, period',
    values: [tenant.tenantId],
    prepare: false,
  });
  return rows.map((row) => [`${row['unit']}_per_${row['period']}`, row['used']]);
};
const exceeded = (retryAfterSeconds: number) => ({
  status: 429,
  details: { code: 'QUOTA_EXCEEDED' },
  retryAfterSeconds,
});
const served = (tokens?: number) => async () => ({ result: 'served', tokens });

describe('a quota limit', () => {
  beforeEach(async () => {
    await createGreeter(test, tenant.admin.token);
  });

  it('429: Retry-After is the end of the period, when the quota resets', async () => {
    await quotaLimits({ requests_per_minute: 2 });
    await greet();
    await greet();
    await expect(greet()).rejects.toMatchObject(exceeded(40));
    time += 40_000;
    expect((await greet()).result).toBe('hello');
    expect(await used()).toEqual([
      ['requests_per_minute', 2],
      ['requests_per_minute', 1],
    ]);
  });

  it('429: Retry-After is the end of the longest exhausted period', async () => {
    time = Date.parse('2026-03-31T12:00:00Z');
    await quotaLimits({ requests_per_minute: 1, requests_per_day: 1, requests_per_month: 2 });
    await greet();
    await expect(greet()).rejects.toMatchObject(exceeded(12 * 3600));
  });

  it('reserves all units of a call or none', async () => {
    await quotaLimits({ requests_per_day: 10, characters_per_day: 100, characters_per_month: 1000 });
    await greet({ characters: 60 });
    await expect(greet({ characters: 41 })).rejects.toMatchObject({ status: 429 });
    expect(await used()).toEqual(
      expect.arrayContaining([
        ['requests_per_day', 1],
        ['characters_per_day', 60],
        ['characters_per_month', 60],
      ]),
    );
    await greet({ characters: 40 });
    await expect(greet({ characters: 1 })).rejects.toMatchObject({ status: 429 });
  });

  it('429: a call that exceeds the whole quota limit', async () => {
    await quotaLimits({ characters_per_day: 10 });
    await expect(greet({ characters: 11 })).rejects.toMatchObject({ status: 429 });
    expect(await used()).toEqual([['characters_per_day', 0]]);
  });

  it('of tokens counts after the call', async () => {
    await quotaLimits({ tokens_per_month: 100 });
    await greet({ attempt: served(60) });
    await greet({ attempt: served(60) });
    expect(await used()).toEqual([['tokens_per_month', 120]]);
    await expect(greet({ attempt: served(1) })).rejects.toMatchObject({ status: 429 });
  });

  it('does not count a failed operation', async () => {
    await quotaLimits({ requests_per_day: 10, characters_per_month: 100 });
    const broken = () => Promise.reject(new TypeError('broken'));
    await expect(greet({ attempt: broken, characters: 50 })).rejects.toMatchObject({ status: 502 });
    const leaving = AbortSignal.abort(new Error('left'));
    await expect(greet({ signal: leaving, characters: 50 })).rejects.toThrow('left');
    expect(await used()).toEqual(
      expect.arrayContaining([
        ['requests_per_day', 0],
        ['characters_per_month', 0],
      ]),
    );
  });

  it('counts an operation once, independent of the number of providers', async () => {
    const failing = await createGreeter(test, tenant.admin.token, { priority: 1 });
    failing.answer(status(500));
    await quotaLimits({ requests_per_day: 10 });
    await greet();
    expect(failing.asked).toHaveLength(1);
    expect(await used()).toEqual([['requests_per_day', 1]]);
  });

  it('of the installation can only be lowered by a tenant, and is counted per tenant', async () => {
    await quotaLimits({ requests_per_day: 2 }, systemTenantId);
    await quotaLimits({ requests_per_day: 100 });
    await greet();
    await greet();
    await expect(greet()).rejects.toMatchObject({ status: 429 });
    await quotaLimits({ requests_per_day: 1 });
    await expect(greet()).rejects.toMatchObject({ status: 429 });
    const other = await createTenant(test);
    await createGreeter(test, other.admin.token);
    expect((await greet({ tenantId: other.tenantId })).result).toBe('hello');
    await quotaLimits({}, systemTenantId);
  });

  it('is exact for 50 concurrent calls, 20 times', async () => {
    for (let round = 1; round <= 20; round += 1) {
      tenant = await createTenant(test);
      await createGreeter(test, tenant.admin.token);
      const max = round + 10;
      await quotaLimits({ requests_per_minute: max, requests_per_month: 1000, characters_per_day: 10_000 });
      const calls = Array.from({ length: 50 }, () => greet({ attempt: served(), characters: 7 }));
      const outcomes = await Promise.allSettled(calls);
      const good = outcomes.filter(({ status: how }) => how === 'fulfilled').length;
      const refused = outcomes.filter((one) => one.status === 'rejected' && one.reason.status === 429).length;
      expect([good, refused]).toEqual([max, 50 - max]);
      expect(await used()).toEqual(
        expect.arrayContaining([
          ['requests_per_minute', max],
          ['requests_per_month', max],
          ['characters_per_day', max * 7],
        ]),
      );
    }
  });
});
