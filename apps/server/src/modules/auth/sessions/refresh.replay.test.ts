import { beforeAll, describe, expect, it } from 'vitest';

import { auditOf, countStatuses, inParallel, post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

describe('a refresh token used 50 times at once', () => {
  it('works exactly once, and the winner goes on', async () => {
    const member = await createMember(test, tenant);
    let { refreshToken } = member;
    for (let round = 0; round < 5; round++) {
      const answers = await inParallel(50, () => post(test, 'refresh', { refreshToken }));
      expect(countStatuses(answers)).toEqual({ 200: 1, 401: 49 });
      const winner = answers.find((answer) => answer.status === 200)!.body;
      expect(await statusOf(test, winner.accessToken)).toBe(200);
      refreshToken = winner.refreshToken;
    }
    expect((await post(test, 'refresh', { refreshToken })).status).toBe(200);
    expect(await statusOf(test, member.token)).toBe(200);
    const replays = await auditOf(test, tenant.admin, 'auth.refresh_replayed');
    expect(replays.filter((entry) => entry.user_id === member.userId)).toEqual([]);
  });
});

describe('a refresh token used again', () => {
  it('ends the session with everything that came from it, and is recorded', async () => {
    const member = await createMember(test, tenant);
    const next = (await post(test, 'refresh', { refreshToken: member.refreshToken })).body;
    const replay = { ip: '198.51.100.30' };
    expectError(await post(test, 'refresh', { refreshToken: member.refreshToken }, replay), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, member.token)).toBe(401);
    expect(await statusOf(test, next.accessToken)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: next.refreshToken }), 401, 'INVALID_TOKEN');
    const [entry, ...others] = await auditOf(test, tenant.admin, 'auth.refresh_replayed');
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ user_id: member.userId, resource_type: 'session', ip_address: replay.ip });
  });

  it('ends the session also when it is an old one', async () => {
    const member = await createMember(test, tenant);
    let pair = { refreshToken: member.refreshToken, accessToken: member.token };
    for (let count = 0; count < 4; count++) {
      pair = (await post(test, 'refresh', { refreshToken: pair.refreshToken })).body;
    }
    await post(test, 'refresh', { refreshToken: member.refreshToken });
    expect(await statusOf(test, pair.accessToken)).toBe(401);
  });

  it('leaves the other sessions of the person alone', async () => {
    const member = await createMember(test, tenant);
    const other = await logIn(test, { email: member.email, password: member.password });
    for (let count = 0; count < 2; count++) await post(test, 'refresh', { refreshToken: member.refreshToken });
    expect(await statusOf(test, member.token)).toBe(401);
    expect(await statusOf(test, other.token)).toBe(200);
    expect((await post(test, 'refresh', { refreshToken: other.refreshToken })).status).toBe(200);
  });

  it('is recorded once, however often it comes', async () => {
    const member = await createMember(test, tenant);
    for (let count = 0; count < 3; count++) await post(test, 'refresh', { refreshToken: member.refreshToken });
    await inParallel(10, () => post(test, 'refresh', { refreshToken: member.refreshToken }));
    const trail = await auditOf(test, tenant.admin, 'auth.refresh_replayed');
    expect(trail.filter((entry) => entry.user_id === member.userId)).toHaveLength(1);
  });
});

describe('a refresh token used again within REFRESH_GRACE_SECONDS', () => {
  const lenient = useService({ environment: { REFRESH_GRACE_SECONDS: '60' } });

  it('is refused, and the session goes on', async () => {
    const { admin } = await createTenant(lenient);
    const next = (await post(lenient, 'refresh', { refreshToken: admin.refreshToken })).body;
    expectError(await post(lenient, 'refresh', { refreshToken: admin.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await statusOf(lenient, next.accessToken)).toBe(200);
    expect((await post(lenient, 'refresh', { refreshToken: next.refreshToken })).status).toBe(200);
  });
});
