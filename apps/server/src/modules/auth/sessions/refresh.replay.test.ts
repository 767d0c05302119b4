import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { auditOf, countStatuses, createClock, inParallel, post, statusOf } from '#modules/auth/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  type Tenant,
} from '#test/support/factories';
import { expectError, startService, testServiceOf, useService, type TestService } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const second = 1000;

const refresh = (on: TestService, refreshToken: string, ip?: string) =>
  post(on, 'refresh', { refreshToken }, ip === undefined ? {} : { ip });

/** The replays in the audit trail of the tenant that concern the user. */
async function replaysOf(on: TestService, tenant: Tenant, userId: string) {
  const trail = await auditOf(on, tenant.admin, 'auth.refresh_replayed');
  return trail.filter((entry) => entry.user_id === userId);
}

describe('a refresh token used again', () => {
  const clock = createClock();
  const test = useService({ now: clock.now });
  let tenant: Tenant;
  let other: TestService;
  let process: Service;

  beforeAll(async () => {
    tenant = await createTenant(test);
    process = await startService({ now: clock.now });
    other = testServiceOf(process, test.connection);
  });
  afterAll(() => process.close());

  it('50 times concurrently, in two processes, gets one successor and revokes nothing', async () => {
    const member = await createMember(test, tenant);
    let { refreshToken } = member;
    for (let round = 0; round < 5; round++) {
      const answers = await inParallel(50, (at) => refresh(at % 2 === 0 ? test : other, refreshToken));
      expect(countStatuses(answers)).toEqual({ 200: 50 });
      const successors = new Set(answers.map(({ body }) => body.refreshToken as string));
      expect(successors.size).toBe(1);
      for (const { body } of answers.slice(0, 5)) expect(await statusOf(test, body.accessToken)).toBe(200);
      [refreshToken] = [...successors] as [string];
    }
    expect((await refresh(test, refreshToken)).status).toBe(200);
    expect(await statusOf(test, member.token)).toBe(200);
    expect(await replaysOf(test, tenant, member.userId)).toEqual([]);
  });

  it('gets the same successor within the grace period, also in another process and for an app account', async () => {
    const account = await createAppAccount(test, tenant);
    for (const who of [await createMember(test, tenant), await logIn(test, account)]) {
      const { refreshToken: next } = (await refresh(test, who.refreshToken)).body;
      clock.advance(9 * second);
      for (const on of [test, other]) {
        const again = await refresh(on, who.refreshToken);
        expect(again).toMatchObject({ status: 200, body: { refreshToken: next, expiresIn: 900 } });
        expect(await statusOf(test, again.body.accessToken)).toBe(200);
      }
      expect((await refresh(test, next)).status).toBe(200);
    }
  });

  it('ends the session after the use of its successor, and is recorded', async () => {
    const member = await createMember(test, tenant);
    const next = (await refresh(test, member.refreshToken)).body;
    const last = (await refresh(test, next.refreshToken)).body;
    const ip = '198.51.100.30';
    expectError(await refresh(test, member.refreshToken, ip), 401, 'INVALID_TOKEN');
    for (const { accessToken } of [{ accessToken: member.token }, next, last])
      expect(await statusOf(test, accessToken)).toBe(401);
    for (const { refreshToken } of [next, last]) expectError(await refresh(test, refreshToken), 401, 'INVALID_TOKEN');
    const [entry, ...others] = await replaysOf(test, tenant, member.userId);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ resource_type: 'session', ip_address: ip });
    const { token } = await logInSystemAdmin(test);
    const events = `/api/v1/system/logs/security-audit?eventType=permission_denied&userId=${member.userId}`;
    await expect
      .poll(async () => (await test.call('GET', events, { token })).body.data, { timeout: 10_000 })
      .toMatchObject([{ tenantId: tenant.tenantId, details: { reason: 'REFRESH_TOKEN_REPLAYED', ip } }]);
  });

  it('ends the session after the grace period, although its successor is unused', async () => {
    const member = await createMember(test, tenant);
    const next = (await refresh(test, member.refreshToken)).body;
    clock.advance(11 * second);
    expectError(await refresh(test, member.refreshToken), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, next.accessToken)).toBe(401);
    expectError(await refresh(test, next.refreshToken), 401, 'INVALID_TOKEN');
    expect(await replaysOf(test, tenant, member.userId)).toHaveLength(1);
  });

  it('ends the session if the end of the request arrives after the grace period', async () => {
    const member = await createMember(test, tenant);
    const port = Number(new URL(await process.http.listen({ port: 0, host: '127.0.0.1' })).port);
    const connection = await openConnection(port);
    const body = JSON.stringify({ refreshToken: member.refreshToken });
    const arrived = once(process.http.server, 'request');
    const headers = `host: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    connection.send(`POST /api/v1/public/auth/refresh HTTP/1.1\r\n${headers}\r\n\r\n${body.slice(0, 10)}`);
    await arrived;
    const { accessToken } = (await refresh(test, member.refreshToken)).body;
    clock.advance(11 * second);
    connection.send(body.slice(10));
    expect((await connection.next()).status).toBe(401);
    connection.destroy();
    expect(await statusOf(test, accessToken)).toBe(401);
  });

  it('ends the session if it is an older one', async () => {
    const member = await createMember(test, tenant);
    let pair = { refreshToken: member.refreshToken, accessToken: member.token };
    for (let count = 0; count < 4; count++) pair = (await refresh(test, pair.refreshToken)).body;
    await refresh(test, member.refreshToken);
    expect(await statusOf(test, pair.accessToken)).toBe(401);
  });

  it('gets nothing within the grace period after the session has ended', async () => {
    const member = await createMember(test, tenant);
    await refresh(test, member.refreshToken);
    await post(test, 'logout', undefined, { token: member.token });
    expectError(await refresh(test, member.refreshToken), 401, 'INVALID_TOKEN');
    expect(await replaysOf(test, tenant, member.userId)).toEqual([]);
  });

  it('keeps the other sessions of the user', async () => {
    const member = await createMember(test, tenant);
    const another = await logIn(test, { email: member.email, password: member.password });
    await refresh(test, (await refresh(test, member.refreshToken)).body.refreshToken);
    await refresh(test, member.refreshToken);
    expect(await statusOf(test, member.token)).toBe(401);
    expect(await statusOf(test, another.token)).toBe(200);
    expect((await refresh(test, another.refreshToken)).status).toBe(200);
  });

  it('is not stored, and neither is its successor', async () => {
    const member = await createMember(test, tenant);
    const next = (await refresh(test, member.refreshToken)).body.refreshToken as string;
    const rows = await test.service.services.database.credential().all<{ row: string }>({
      kind: 'read',
      text: 'select t::text as row from refresh_tokens t where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(rows.length).toBeGreaterThan(1);
    for (const secret of [member.refreshToken, next].map((token) => token.slice(4)))
      expect(rows.filter(({ row }) => row.includes(secret))).toEqual([]);
  });
});

describe('a refresh token used again with REFRESH_GRACE_SECONDS=0', () => {
  const strict = useService({ environment: { REFRESH_GRACE_SECONDS: '0' } });
  let tenant: Tenant;
  let port: number;

  beforeAll(async () => {
    tenant = await createTenant(strict);
    port = Number(new URL(await strict.service.http.listen({ port: 0, host: '127.0.0.1' })).port);
  });

  type Outcome = { status: number; body: { accessToken: string; refreshToken: string } };

  const inProcess = (times: number, token: string): Promise<Outcome[]> =>
    inParallel(times, () => refresh(strict, token));

  /** All arrive before the first is read: one tick writes them. */
  async function overHttp(times: number, refreshToken: string): Promise<Outcome[]> {
    const connections = await Promise.all(Array.from({ length: times }, () => openConnection(port)));
    const body = JSON.stringify({ refreshToken });
    const headers = `host: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    for (const connection of connections)
      connection.send(`POST /api/v1/public/auth/refresh HTTP/1.1\r\n${headers}\r\n\r\n${body}`);
    const answers = await Promise.all(connections.map((connection) => connection.next()));
    for (const connection of connections) connection.destroy();
    return answers.map(({ status, body: text }) => ({ status, body: JSON.parse(text) as Outcome['body'] }));
  }

  it.each([
    ['50 in process', 50, inProcess],
    ['200 in process', 200, inProcess],
    ['200 over connections of their own', 200, overHttp],
  ])('at once has one winner and ends nothing: %s', async (_what, times, send) => {
    const member = await createMember(strict, tenant);
    let { refreshToken } = member;
    for (let round = 0; round < 3; round++) {
      const answers = await send(times, refreshToken);
      const [winner, ...others] = answers.filter(({ status }) => status === 200);
      expect(others).toEqual([]);
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(times - 1);
      expect(await statusOf(strict, winner!.body.accessToken)).toBe(200);
      ({ refreshToken } = winner!.body);
    }
    expect((await refresh(strict, refreshToken)).status).toBe(200);
    expect(await replaysOf(strict, tenant, member.userId)).toEqual([]);
  });

  it('ends the session at once, and is recorded once for any number of replays', async () => {
    const member = await createMember(strict, tenant);
    const next = (await refresh(strict, member.refreshToken)).body;
    expectError(await refresh(strict, member.refreshToken), 401, 'INVALID_TOKEN');
    expect(await statusOf(strict, next.accessToken)).toBe(401);
    expectError(await refresh(strict, next.refreshToken), 401, 'INVALID_TOKEN');
    await inParallel(10, () => refresh(strict, member.refreshToken));
    expect(await replaysOf(strict, tenant, member.userId)).toHaveLength(1);
  });
});
