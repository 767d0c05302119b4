import { beforeAll, describe, expect, it, vi } from 'vitest';

import { openDatabase } from '#core/data/db/database';
import { createMember, createTenant, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const scrapeToken = 'a-token-that-Prometheus-has';
const test = useService({ environment: { METRICS_TOKEN: scrapeToken } });
const path = '/api/v1/system/metrics';
let system: Person;
let tenant: Tenant;

beforeAll(async () => {
  system = await logInSystemAdmin(test);
  tenant = await createTenant(test);
});

const scrape = (token: string | undefined = scrapeToken): Promise<Answer> => test.call('GET', path, { token });

/** The value of a sample, with labels in their written order; undefined if it is missing. */
async function valueOf(sample: string): Promise<number | undefined> {
  const { text } = await scrape();
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

describe('getMetrics', () => {
  it('200: in the text format of Prometheus, for the scrape token and for system administrators', async () => {
    for (const token of [scrapeToken, system.token]) {
      const answer = await scrape(token);
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    const { text } = await scrape();
    for (const line of text.split('\n')) {
      // Prometheus documentation, "Exposition formats".
      expect(line).toMatch(
        /^$|^# (HELP|TYPE) [a-z_:]+ .+$|^[a-z_:]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [-+.e\d]+(Inf)?$/,
      );
    }
  });

  it.each([
    ['of a different length', 'a-token'],
    ['of the same length', 'a-token-that-Prometheus_has'],
    ['of an empty text', ''],
  ])('401: a token %s', async (_what, token) => {
    expectError(await scrape(token), 401, 'INVALID_TOKEN');
  });

  it('401 without credentials, and for another scheme', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    const headers = { authorization: `Basic ${scrapeToken}` };
    expectError(await test.call('GET', path, { headers }), 401, 'INVALID_TOKEN');
  });

  it('403: all other callers', async () => {
    const member = await createMember(test, tenant, { permissions: ['audit_logs.read'] });
    for (const { token } of [tenant.admin, member]) expectError(await scrape(token), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('requests', () => {
  const sample = (part: string, labels: string) => `http_request_duration_seconds_${part}{${labels}}`;

  it('are counted by method, pattern and status, in buckets', async () => {
    const labels = 'method="GET",status="404",route="/api/v1/secure/users/:id"';
    const count = async () => (await valueOf(sample('count', labels))) ?? 0;
    const before = await count();
    const id = '00000000-0000-7000-8000-000000000001';
    await test.call('GET', `/api/v1/secure/users/${id}?expand=secret`, { token: tenant.admin.token });
    await vi.waitFor(async () => expect(await count()).toBe(before + 1), 30_000);
    const bucket = (le: string) =>
      valueOf(
        `http_request_duration_seconds_bucket{method="GET",status="404",route="/api/v1/secure/users/:id",le="${le}"}`,
      );
    expect(await bucket('+Inf')).toBe(before + 1);
    expect(await bucket('0.001')).toBeLessThanOrEqual((await bucket('10'))!);
    expect(await valueOf(sample('sum', labels))).toBeGreaterThan(0);
  });

  it('never use request data as a label', async () => {
    await test.raw({ method: 'GET', url: '/made-up/path?word=made-up' });
    await test.raw({ method: 'PROPFIND', url: '/api/v1/system/info' });
    const unmatched = sample('count', 'method="GET",status="404",route="unmatched"');
    await vi.waitFor(async () => expect(await valueOf(unmatched)).toBeGreaterThan(0), 30_000);
    const refused = sample('count', 'method="other",status="404",route="unmatched"');
    await vi.waitFor(async () => expect(await valueOf(refused)).toBeGreaterThan(0), 30_000);
    const { text } = await scrape();
    expect(text).not.toMatch(/made-up|PROPFIND/);
    expect(text).not.toContain(tenant.tenantId);
    expect(text).not.toContain(system.userId);
  });

  it('that are refused by limits are counted by reason', async () => {
    const { metrics, limits } = test.service.services;
    const reason = 'http_refusals_total{reason="RATE_LIMIT_EXCEEDED"}';
    expect(await metrics.text()).not.toContain(reason);
    const ip = '203.0.113.77';
    await vi.waitFor(async () => {
      await Promise.all(Array.from({ length: 500 }, async () => limits.refuse(ip)));
      expect((await test.call('GET', '/api/v1/system/info', { ip })).status).toBe(429);
    }, 30_000);
    expect(await valueOf(reason)).toBe(1);
  });
});

describe('the process', () => {
  it('reports the state of its parts', async () => {
    await scrape();
    const { text } = await scrape();
    expect(text).toMatch(/^atrium_build_info\{version="\d+\.\d+\.\d+",node="v\d+/m);
    expect(text).toContain('nodejs_eventloop_delay_seconds{quantile="0.99"}');
    expect(await valueOf('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(await valueOf('http_requests_in_flight')).toBe(0);
    expect(await valueOf('atrium_database_connections_max{role="tenant",pool="interactive"}')).toBe(8);
    expect(await valueOf('atrium_database_connections{role="platform",pool="primary"}')).toBeGreaterThan(0);
    expect(await valueOf('atrium_service_healthy{service="database"}')).toBe(1);
    expect(await valueOf('atrium_log_lines_dropped_total')).toBe(0);
  });

  it('counts kept log lines', async () => {
    const { logging } = test.service.services;
    const before = (await valueOf('atrium_log_lines_kept_total'))!;
    await logging.flush();
    expect(await valueOf('atrium_log_lines_kept_total')).toBeGreaterThan(before);
  });

  it('counts cache hits of credentials', async () => {
    const hits = () => valueOf('atrium_credential_lookups_total{result="hit"}');
    await scrape(system.token);
    const before = (await hits())!;
    await scrape(system.token);
    expect(await hits()).toBe(before + 1);
  });

  it('reports the number of waiting statements', async () => {
    // A separate service, so that no other statement runs.
    const database = openDatabase({ connection: test.connection });
    const { interactive } = database.platform();
    const running = Promise.all(
      Array.from({ length: 5 }, () => interactive.all({ kind: 'read', text: 'select', values: [], prepare: false })),
    );
    const load = () => database.pools().find(({ role, pool }) => role === 'platform' && pool === 'interactive')!;
    expect(load().flights + load().waiting).toBe(5);
    await running;
    expect([load().flights, load().waiting]).toEqual([0, 0]);
    await database.close();
  });
});

describe('without METRICS_TOKEN', () => {
  const closed = useService();

  it('every token is refused, also an empty one', async () => {
    for (const token of ['', 'undefined', scrapeToken]) {
      expectError(await closed.call('GET', path, { token }), 401, 'INVALID_TOKEN');
    }
  });
});
