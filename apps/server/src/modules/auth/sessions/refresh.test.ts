import { beforeAll, describe, expect, it } from 'vitest';

import { createClock, day, expectNoSecrets, hour, minute, post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;
let member: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
});

const refresh = (refreshToken: unknown) => post(test, 'refresh', { refreshToken });

async function begin(options: { rememberMe?: boolean } = {}): Promise<string> {
  const { email, password } = member;
  return (await post(test, 'login', { email, password, ...options })).body.refreshToken;
}

describe('refreshTokens', () => {
  it('200: a new pair; the earlier access token stays valid until it expires', async () => {
    const { email, password } = member;
    const before = await logIn(test, { email, password });
    const answer = await refresh(before.refreshToken);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      accessToken: expect.any(String),
      refreshToken: expect.stringMatching(/^rt1_[\w-]{43}$/),
      expiresIn: 900,
    });
    expect(answer.body.refreshToken).not.toBe(before.refreshToken);
    expect(await statusOf(test, answer.body.accessToken)).toBe(200);
    expect(await statusOf(test, before.token)).toBe(200);
  });

  it('200: repeatedly, in the same session', async () => {
    let pair = (await refresh(await begin())).body;
    const listOwn = async () => {
      const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: pair.accessToken });
      return sessions.body.data.find((session: { current: boolean }) => session.current).id as string;
    };
    const id = await listOwn();
    for (let count = 0; count < 5; count++) pair = (await refresh(pair.refreshToken)).body;
    expect(await listOwn()).toBe(id);
  });

  it.each([
    ['no body', undefined],
    ['no token', {}],
    ['a number', { refreshToken: 5 }],
    ['null', { refreshToken: null }],
    ['201 characters', { refreshToken: 'x'.repeat(201) }],
    ['an unknown property', { refreshToken: 'rt1_x', tenantId: '01890000-0000-7000-8000-000000000000' }],
  ])('400: %s', async (_what, body) => {
    expectError(await post(test, 'refresh', body), 400, 'VALIDATION_ERROR');
  });

  it('401: a malformed refresh token', async () => {
    const { email, password } = member;
    const { token, refreshToken } = await logIn(test, { email, password });
    const wrong = [
      '',
      'rt1_',
      `rt1_${'x'.repeat(43)}`,
      refreshToken.slice(4),
      refreshToken.toUpperCase(),
      refreshToken.slice(0, -1),
      `${refreshToken}=`,
      ` ${refreshToken}`,
      token.slice(0, 200),
    ];
    for (const text of wrong) expectError(await refresh(text), 401, 'INVALID_TOKEN');
    expect((await refresh(refreshToken)).status).toBe(200);
  });

  it('401: as an access token', async () => {
    expect(await statusOf(test, await begin())).toBe(401);
  });

  it('401: for a suspended user, whose sessions remain revoked', async () => {
    const suspended = await createMember(test, tenant);
    const { token } = await logIn(test, { email: tenant.admin.email, password: tenant.admin.password });
    for (const status of ['suspended', 'active']) {
      const change = await test.call('PATCH', `/api/v1/secure/users/${suspended.userId}`, { token, body: { status } });
      expect(change.status).toBe(200);
      expectError(await refresh(suspended.refreshToken), 401, 'INVALID_TOKEN');
    }
    const { email, password } = suspended;
    expect((await refresh((await logIn(test, { email, password })).refreshToken)).status).toBe(200);
  });

  it('401: after 24 idle hours', async () => {
    const [used, idle] = [await begin(), await begin()];
    clock.advance(day - minute);
    expect((await refresh(used)).status).toBe(200);
    clock.advance(minute);
    expectError(await refresh(idle), 401, 'INVALID_TOKEN');
  });

  it('401: after 7 days of constant use', async () => {
    let token = await begin();
    for (let passed = 0; passed + 23 < 7 * 24; passed += 23) {
      clock.advance(23 * hour);
      token = (await refresh(token)).body.refreshToken;
    }
    clock.advance(23 * hour);
    expectError(await refresh(token), 401, 'INVALID_TOKEN');
  });

  it('401: with rememberMe, after 14 idle days', async () => {
    const [used, idle] = [await begin({ rememberMe: true }), await begin({ rememberMe: true })];
    clock.advance(14 * day - minute);
    expect((await refresh(used)).status).toBe(200);
    clock.advance(minute);
    expectError(await refresh(idle), 401, 'INVALID_TOKEN');
  });

  it('401: with rememberMe, after 30 days of constant use', async () => {
    let token = await begin({ rememberMe: true });
    for (const days of [13, 13, 3.9]) {
      clock.advance(days * day);
      token = (await refresh(token)).body.refreshToken;
    }
    clock.advance(0.1 * day);
    expectError(await refresh(token), 401, 'INVALID_TOKEN');
  });

  it('extends the session by its use, never beyond its absolute end', async () => {
    let pair = (await refresh(await begin())).body;
    const read = async () => {
      const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: pair.accessToken });
      return sessions.body.data.find((session: { current: boolean }) => session.current);
    };
    const { created_at: createdAt } = await read();
    for (let count = 0; count < 7; count++) {
      clock.advance(23.5 * hour);
      pair = (await refresh(pair.refreshToken)).body;
    }
    const { expires_at: expiresAt } = await read();
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(7 * day);
  });

  it('leaves no token in the log', async () => {
    const first = await begin();
    const { accessToken, refreshToken } = (await refresh(first)).body;
    await refresh(first);
    expectNoSecrets(test, [first, accessToken, refreshToken]);
  });
});
