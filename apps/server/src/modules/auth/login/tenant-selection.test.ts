import { beforeAll, describe, expect, it } from 'vitest';

import {
  auditOf,
  countStatuses,
  createClock,
  createPersonOfTwo,
  day,
  expectNoSecrets,
  inParallel,
  minute,
  post,
  requestReset,
  statusOf,
} from '#modules/auth/testing/steps';
import { createTenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let person: Awaited<ReturnType<typeof createPersonOfTwo>>;

beforeAll(async () => {
  person = await createPersonOfTwo(test);
});

async function beginLogin(options: { rememberMe?: boolean } = {}): Promise<string> {
  const { email, password } = person;
  const answer = await post(test, 'login', { email, password, ...options });
  expect(answer.status).toBe(200);
  return answer.body.selectionToken;
}

const select = (selectionToken: string, tenantId = person.second.tenantId) =>
  post(test, 'select-tenant', { selectionToken, tenantId });

describe('login of a person with several tenants', () => {
  it('200: the tenants and no tokens', async () => {
    const { email, password, first, second } = person;
    const answer = await post(test, 'login', { email, password });
    expect(answer.status).toBe(200);
    const choice = ({ tenantId: id, name, domain }: typeof first) => ({ id, name, domain });
    expect(answer.body).toEqual({
      requiresTenantSelection: true,
      tenants: [first, second].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(choice),
      selectionToken: expect.stringMatching(/^[\w-]{43}$/),
      message: expect.any(String),
    });
  });

  it('200: straight into the named tenant', async () => {
    const { email, password } = person;
    for (const { tenantId } of [person.first, person.second]) {
      const answer = await post(test, 'login', { email, password, tenantId });
      expect(answer.body.user.tenantId).toBe(tenantId);
      expect(await statusOf(test, answer.body.accessToken)).toBe(200);
    }
  });

  it('401: a tenant of other people', async () => {
    const { email, password } = person;
    const { tenantId } = await createTenant(test);
    expectError(await post(test, 'login', { email, password, tenantId }), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('selectTenant', () => {
  it('200: answers as login does, and is recorded as one', async () => {
    const answer = await select(await beginLogin());
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).toSorted()).toEqual(['accessToken', 'expiresIn', 'refreshToken', 'user']);
    expect(answer.body.user).toMatchObject({ tenantId: person.second.tenantId, isTenantAdmin: false });
    expect(await statusOf(test, answer.body.accessToken)).toBe(200);
    const [entry] = await auditOf(test, person.second.admin, 'auth.login');
    expect(entry!.user_id).toBe(answer.body.user.id);
  });

  it('200: the tenant id in upper case', async () => {
    const answer = await select(await beginLogin(), person.first.tenantId.toUpperCase());
    expect(answer.body.user.tenantId).toBe(person.first.tenantId);
    expect(await statusOf(test, answer.body.accessToken)).toBe(200);
  });

  it('200: keeps rememberMe of the login', async () => {
    const { accessToken: token } = (await select(await beginLogin({ rememberMe: true }))).body;
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token });
    const [session] = sessions.body.data;
    expect(Date.parse(session.expires_at) - Date.parse(session.created_at)).toBe(14 * day);
  });

  it('200: exactly one of 50 concurrent requests', async () => {
    for (let round = 0; round < 3; round++) {
      const token = await beginLogin();
      expect(countStatuses(await inParallel(50, () => select(token)))).toEqual({ 200: 1, 401: 49 });
    }
  });

  it.each([
    ['no token', { tenantId: '01890000-0000-7000-8000-000000000000' }],
    ['no tenant', { selectionToken: 'x'.repeat(43) }],
    ['an empty token', { selectionToken: '', tenantId: '01890000-0000-7000-8000-000000000000' }],
    ['a tenant that is not a uuid', { selectionToken: 'x'.repeat(43), tenantId: 'first' }],
  ])('400: %s', async (_what, body) => {
    expectError(await post(test, 'select-tenant', body), 400, 'VALIDATION_ERROR');
  });

  it('401: a used token', async () => {
    const token = await beginLogin();
    expect((await select(token)).status).toBe(200);
    expectError(await select(token), 401, 'AUTHENTICATION_ERROR');
    expectError(await select(token, person.first.tenantId), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: a token that was never issued, or is malformed', async () => {
    for (const token of ['x'.repeat(43), 'x', `${'x'.repeat(42)} `, 'x'.repeat(200)]) {
      expectError(await select(token), 401, 'AUTHENTICATION_ERROR');
    }
  });

  it('401: a tenant of other people, or an unknown one', async () => {
    const foreign = await createTenant(test);
    const token = await beginLogin();
    for (const tenantId of [foreign.tenantId, '01890000-0000-7000-8000-000000000000']) {
      expectError(await select(token, tenantId), 401, 'AUTHENTICATION_ERROR');
    }
  });

  it('401: a suspended tenant', async () => {
    const { email, password, second } = await createPersonOfTwo(test);
    const { selectionToken } = (await post(test, 'login', { email, password })).body;
    await test.service.services.database.tenant(second.tenantId).interactive.all({
      kind: 'write',
      text: "update tenants set status = 'suspended' where id = $1",
      values: [second.tenantId],
      prepare: false,
    });
    expectError(await select(selectionToken, second.tenantId), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: as a password reset', async () => {
    const token = await beginLogin();
    expectError(await post(test, 'reset-password', { token, password: 'stolen horse' }), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: after a login with a password that was reset meanwhile', async () => {
    const { email, password, second } = await createPersonOfTwo(test);
    const { selectionToken } = (await post(test, 'login', { email, password })).body;
    const reset = await post(test, 'reset-password', { token: await requestReset(test, email), password: 'new horse' });
    expect(reset.status).toBe(200);
    expectError(await select(selectionToken, second.tenantId), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: after five minutes', async () => {
    const [early, late] = [await beginLogin(), await beginLogin()];
    clock.advance(4 * minute);
    expect((await select(early)).status).toBe(200);
    clock.advance(minute);
    expectError(await select(late), 401, 'AUTHENTICATION_ERROR');
  });

  it('leaves no token in the log', async () => {
    const token = await beginLogin();
    const { accessToken, refreshToken } = (await select(token)).body;
    expectNoSecrets(test, [token, accessToken, refreshToken, person.password]);
  });
});
