import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  auditOf,
  comparable,
  countStatuses,
  createClock,
  hour,
  inParallel,
  post,
  statusOf,
} from '#modules/auth/testing/steps';
import { createAppAccount, createTenant, logIn, loginOf, type AppAccount, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/auth/sessions';
let tenant: Tenant;
let account: AppAccount;

beforeEach(async () => {
  tenant = await createTenant(test);
  account = await createAppAccount(test, tenant);
});

const list = async (token: string) => (await test.call('GET', path, { token })).body.data;
const revoke = (token: string, id: string) => test.call('DELETE', `${path}/${id}`, { token });

/** Audit events of the app account in the tenant. */
async function ownEntries(action: string) {
  const trail = await auditOf(test, tenant.admin, action);
  return trail.filter((entry) => entry.details.actor.id === account.id);
}

describe('the sessions of an app account', () => {
  it('are listed newest first, the current one marked, without those of others', async () => {
    const first = await logIn(test, account);
    await logIn(test, await createAppAccount(test, tenant));
    const from = { ip: '198.51.100.41', headers: { 'user-agent': 'Display/1.0' } };
    const second = (await post(test, 'login', loginOf(account), from)).body.accessToken;
    expect(await list(second)).toMatchObject([
      { current: true, ip_address: from.ip, user_agent: 'Display/1.0' },
      { current: false, ip_address: '127.0.0.1' },
    ]);
    expect((await list(first.token)).map(({ current }: { current: boolean }) => current)).toEqual([false, true]);
  });

  it('204: one session revokes another, on the next request, and it is recorded', async () => {
    const [lost, kept] = [await logIn(test, account), await logIn(test, account)];
    const [{ id }] = (await list(lost.token)).filter(({ current }: { current: boolean }) => current);
    expect((await revoke(kept.token, id)).status).toBe(204);
    expect([await statusOf(test, lost.token), await statusOf(test, kept.token)]).toEqual([401, 200]);
    expectError(await post(test, 'refresh', { refreshToken: lost.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await ownEntries('auth.session_revoked')).toMatchObject([
      { user_id: null, resource_id: id, details: { actor: { type: 'app_account' } } },
    ]);
  });

  it('404: the same bytes for unknown ones, and those of a user or another app account', async () => {
    const { token } = await logIn(test, account);
    const other = await logIn(test, await createAppAccount(test, tenant));
    const [ofPerson] = await list(tenant.admin.token);
    const [ofOther] = await list(other.token);
    const [own] = await list(token);
    const answers = [];
    for (const id of [newId(), ofPerson.id, ofOther.id]) answers.push(await revoke(token, id));
    answers.push(await revoke(tenant.admin.token, own.id));
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    for (const alive of [token, other.token, tenant.admin.token]) expect(await statusOf(test, alive)).toBe(200);
  });
});

describe('logout of an app account', () => {
  const logout = (token: string, query = '') => post(test, `logout${query}`, undefined, { token });

  it('200: ends the one session, and is recorded', async () => {
    const [left, other] = [await logIn(test, account), await logIn(test, account)];
    expect((await logout(left.token)).status).toBe(200);
    expect([await statusOf(test, left.token), await statusOf(test, other.token)]).toEqual([401, 200]);
    expectError(await post(test, 'refresh', { refreshToken: left.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await ownEntries('auth.logout')).toMatchObject([{ user_id: null, details: { sessions: 1 } }]);
  });

  it('200: with scope=all ends all sessions of the app account, and no others', async () => {
    const own = [await logIn(test, account), await logIn(test, account), await logIn(test, account)];
    const other = await logIn(test, await createAppAccount(test, tenant));
    expect((await logout(own[0]!.token, '?scope=all')).status).toBe(200);
    for (const { token, refreshToken } of own) {
      expect(await statusOf(test, token)).toBe(401);
      expectError(await post(test, 'refresh', { refreshToken }), 401, 'INVALID_TOKEN');
    }
    for (const { token } of [other, tenant.admin]) expect(await statusOf(test, token)).toBe(200);
    expect(await ownEntries('auth.logout')).toMatchObject([{ user_id: null, details: { sessions: 3 } }]);
  });

  it('200: by an expired access token, as for users', async () => {
    const { token, refreshToken } = await logIn(test, account);
    clock.advance(hour);
    expect((await logout(token)).status).toBe(200);
    expectError(await post(test, 'refresh', { refreshToken }), 401, 'INVALID_TOKEN');
  });
});

describe('refresh tokens of an app account', () => {
  it('200: a new pair for the same session', async () => {
    const { refreshToken } = await logIn(test, account);
    clock.advance(hour);
    const answer = await post(test, 'refresh', { refreshToken });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        refreshToken: expect.stringMatching(/^rt1_[\w-]{43}$/),
        expiresIn: 900,
      },
    });
    const me = await test.call('GET', '/api/v1/auth/me', { token: answer.body.accessToken });
    expect(me.body.data.id).toBe(account.id);
    expect(await list(answer.body.accessToken)).toHaveLength(1);
  });

  it('have one successor for 50 concurrent requests: 20 rounds', async () => {
    let { refreshToken } = await logIn(test, account);
    for (let round = 0; round < 20; round++) {
      const answers = await inParallel(50, () => post(test, 'refresh', { refreshToken }));
      expect(countStatuses(answers)).toEqual({ 200: 50 });
      expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(1);
      expect(await statusOf(test, answers[0]!.body.accessToken)).toBe(200);
      ({ refreshToken } = answers[0]!.body);
    }
    expect(await ownEntries('auth.refresh_replayed')).toEqual([]);
  });

  it('end the session when replayed, recorded for the app account', async () => {
    const session = await logIn(test, account);
    const first = (await post(test, 'refresh', { refreshToken: session.refreshToken })).body;
    const next = (await post(test, 'refresh', { refreshToken: first.refreshToken })).body;
    const replay = await post(test, 'refresh', { refreshToken: session.refreshToken });
    expectError(replay, 401, 'INVALID_TOKEN');
    for (const token of [session.token, next.accessToken]) expect(await statusOf(test, token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: next.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await ownEntries('auth.refresh_replayed')).toMatchObject([
      { user_id: null, resource_type: 'session', details: { actor: { type: 'app_account' } } },
    ]);
  });
});
