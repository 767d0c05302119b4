import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
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
import { createAppAccount, createTenant, logIn, type AppAccount, type Tenant } from '#test/support/factories';
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

/** What the trail of the tenant says of the app account. */
async function ownEntries(action: string) {
  const trail = await auditOf(test, tenant.admin, action);
  return trail.filter((entry) => entry.details.actor.id === account.id);
}

describe('the sessions of an app account', () => {
  it('are listed newest first, the own one marked, and nobody else’s among them', async () => {
    const first = await logIn(test, account);
    await logIn(test, await createAppAccount(test, tenant));
    const { email, password } = account;
    const from = { ip: '198.51.100.41', headers: { 'user-agent': 'Display/1.0' } };
    const second = (await post(test, 'login', { email, password }, from)).body.accessToken;
    expect(await list(second)).toMatchObject([
      { current: true, ip_address: from.ip, user_agent: 'Display/1.0' },
      { current: false, ip_address: '127.0.0.1' },
    ]);
    expect((await list(first.token)).map(({ current }: { current: boolean }) => current)).toEqual([false, true]);
  });

  it('204: one is ended by another, on the next request, and it is recorded', async () => {
    const [lost, kept] = [await logIn(test, account), await logIn(test, account)];
    const [{ id }] = (await list(lost.token)).filter(({ current }: { current: boolean }) => current);
    expect((await revoke(kept.token, id)).status).toBe(204);
    expect([await statusOf(test, lost.token), await statusOf(test, kept.token)]).toEqual([401, 200]);
    expectError(await post(test, 'refresh', { refreshToken: lost.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await ownEntries('auth.session_revoked')).toMatchObject([
      { user_id: null, resource_id: id, details: { actor: { type: 'app_account' } } },
    ]);
  });

  it('404: the same bytes for unknown ones, a person’s and another app account’s', async () => {
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

  it('200: with scope=all ends all of its own, and nobody else’s', async () => {
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

  it('200: by an access token that has ended, as for people', async () => {
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

  it('work exactly once of 50 at once: 20 rounds', async () => {
    let { refreshToken } = await logIn(test, account);
    for (let round = 0; round < 20; round++) {
      const answers = await inParallel(50, () => post(test, 'refresh', { refreshToken }));
      expect(countStatuses(answers)).toEqual({ 200: 1, 401: 49 });
      const winner = answers.find(({ status }) => status === 200)!.body;
      expect(await statusOf(test, winner.accessToken)).toBe(200);
      refreshToken = winner.refreshToken;
    }
    expect(await ownEntries('auth.refresh_replayed')).toEqual([]);
  });

  it('used again, end the session, recorded as the app account’s', async () => {
    const session = await logIn(test, account);
    const next = (await post(test, 'refresh', { refreshToken: session.refreshToken })).body;
    const replay = await post(test, 'refresh', { refreshToken: session.refreshToken });
    expectError(replay, 401, 'INVALID_TOKEN');
    for (const token of [session.token, next.accessToken]) expect(await statusOf(test, token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: next.refreshToken }), 401, 'INVALID_TOKEN');
    expect(await ownEntries('auth.refresh_replayed')).toMatchObject([
      { user_id: null, resource_type: 'session', details: { actor: { type: 'app_account' } } },
    ]);
  });
});
