import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf, countStatuses, createClock, inParallel, minute } from '#modules/auth/testing/steps';
import { arrivedWith, createBrowser, createPkce } from '#modules/identity-providers/testing/browser';
import { startOpenIdServer, type OpenIdServer } from '#modules/identity-providers/testing/openid-server';
import { startPlainOAuthServer, type PlainOAuthServer } from '#modules/identity-providers/testing/plain-oauth-server';
import {
  app,
  attemptLogin,
  callbackOf,
  configure,
  identities,
  link,
  logInThrough,
  openLoopback,
  refusalOf,
} from '#modules/identity-providers/testing/steps';
import { enrolTotp } from '#modules/two-factor/testing/steps';
import {
  createMember,
  createTenant,
  joinTenant,
  logIn,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Person,
} from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
// Tests of other suites would see the configuration of the installation.
const test = useService({ environment: openLoopback, ownDatabase: true, now: clock.now });
let openId: OpenIdServer;
let plain: PlainOAuthServer;

beforeAll(async () => {
  [openId, plain] = [await startOpenIdServer(), await startPlainOAuthServer()];
  const { token } = await logInSystemAdmin(test);
  const client = await openId.register(await callbackOf(test, token, 'google'));
  await configure(test, token, 'google', { ...client, issuer: openId.issuer });
  await configure(test, token, 'facebook', { ...plain.client, issuer: plain.origin });
});
afterAll(() => Promise.all([openId.close(), plain.close()]));

/** A user at the provider who has no account here. */
const stranger = () => openId.add({ sub: unique('sub'), email: `${unique('other')}@elsewhere.example` }).sub;

async function createPerson() {
  const tenant = await createTenant(test);
  return { tenant, tenantId: tenant.tenantId, person: tenant.admin, token: tenant.admin.token };
}

const list = async (token: string): Promise<{ id: string; provider: string; tenantId: string | null }[]> => {
  const answer = await test.call('GET', identities, { token });
  expect(answer.status).toBe(200);
  return answer.body.data;
};
const unlink = (token: string, id: string) => test.call('DELETE', `${identities}/${id}`, { token });

/** Starts a link and returns the code for the application. */
async function obtainCode(token: string, person: string) {
  const { verifier, challenge } = createPkce();
  const body = { redirect_uri: app, state: 'mine', code_challenge: challenge };
  const begun = await test.call('POST', `${identities}/google/link`, { token, body });
  expect(begun.status).toBe(200);
  const arrival = await createBrowser(test, person).visit(begun.body.data.authorization_url);
  return { arrival, code: arrival.url.searchParams.get('code')!, code_verifier: verifier };
}

async function withoutPassword({ userId }: Person, tenantId: string): Promise<void> {
  await test.service.services.database.credential(tenantId).interactive.all({
    kind: 'write',
    text: `update accounts set password_hash = null
           where id = (select account_id from users where tenant_id = $1 and id = $2)`,
    values: [tenantId, userId],
    prepare: false,
  });
}

describe('linking', () => {
  it('gives a login to an identity that has nothing in common with the account', async () => {
    const { tenant, person, token } = await createPerson();
    const sub = stranger();
    expect(refusalOf(await attemptLogin(test, sub))).toBe('account_not_linked');
    const { arrival, ...body } = await obtainCode(token, sub);
    expect(arrivedWith(arrival)).toEqual({ at: app, query: { code: expect.any(String), state: 'mine' } });
    expect(await list(token)).toEqual([]);
    const linked = await test.call('POST', identities, { token, body });
    expect(linked.status).toBe(201);
    expect(linked.body.data).toEqual({
      id: expect.any(String),
      provider: 'google',
      email: expect.stringContaining('@elsewhere.example'),
      tenantId: null,
      created_at: expect.any(String),
      last_used_at: null,
    });
    expect(await list(token)).toEqual([linked.body.data]);
    expect((await logInThrough(test, sub)).body.user.id).toBe(person.userId);
    const [row] = await auditOf(test, tenant.admin, 'auth.identity_linked');
    expect(row).toMatchObject({
      user_id: person.userId,
      details: { provider: 'google', identityId: linked.body.data.id },
    });
  });

  it('gives a login to a provider that does not verify addresses', async () => {
    const { person, token } = await createPerson();
    plain.members.set('fan', { id: 1, addresses: [{ email: person.email, primary: true, verified: true }] });
    expect(refusalOf(await attemptLogin(test, 'fan', { provider: 'facebook' }))).toBe('account_not_linked');
    expect((await link(test, token, { person: 'fan', provider: 'facebook' })).status).toBe(201);
    expect((await logInThrough(test, 'fan', { provider: 'facebook' })).body.user.id).toBe(person.userId);
  });

  it('can be repeated, and creates no second identity', async () => {
    const { tenant, token } = await createPerson();
    const sub = stranger();
    const [first, second] = [await link(test, token, { person: sub }), await link(test, token, { person: sub })];
    expect(second.body.data.id).toBe(first.body.data.id);
    expect(await list(token)).toHaveLength(1);
    expect(await auditOf(test, tenant.admin, 'auth.identity_linked')).toHaveLength(1);
  });

  it('through the registration of the caller’s tenant counts for that tenant, and is another identity', async () => {
    const { person, token, tenantId } = await createPerson();
    const client = await openId.register(await callbackOf(test, token, 'google'));
    const sub = stranger();
    await link(test, token, { person: sub });
    await configure(test, token, 'google', { ...client, issuer: openId.issuer });
    const linked = await link(test, token, { person: sub });
    expect(linked.body.data.tenantId).toBe(tenantId);
    expect((await list(token)).map((identity) => identity.tenantId)).toEqual([null, tenantId]);
    const there = await logInThrough(test, sub, { tenantId });
    expect(there.body.user.id).toBe(person.userId);
    const refused = await test.call('GET', identities, { token: there.body.accessToken });
    expectError(refused, 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
    // Without a tenant, the provider of the installation is used.
    expect((await logInThrough(test, sub)).status).toBe(200);
  });

  it('409: an identity of another account', async () => {
    const sub = stranger();
    const [first, second] = [await createPerson(), await createPerson()];
    expect((await link(test, first.token, { person: sub })).status).toBe(201);
    expectError(await link(test, second.token, { person: sub }), 409, 'CONFLICT', 'IDENTITY_TAKEN');
    expect((await logInThrough(test, sub)).body.user.id).toBe(first.person.userId);
  });

  it('422: with a wrong verifier, a used code, too late, or by another user', async () => {
    const [owner, other] = [await createPerson(), await createPerson()];
    const confirm = (token: string, body: object): Promise<Answer> => test.call('POST', identities, { token, body });
    const expectRefused = async (token: string, body: object) =>
      expectError(await confirm(token, body), 422, 'UNPROCESSABLE_ENTITY', 'LINK_CODE_REFUSED');
    const { arrival: _one, ...wrong } = await obtainCode(owner.token, stranger());
    await expectRefused(owner.token, { ...wrong, code_verifier: createPkce().verifier });
    await expectRefused(owner.token, wrong);
    const { arrival: _two, ...stolen } = await obtainCode(owner.token, stranger());
    await expectRefused(other.token, stolen);
    const { arrival: _three, ...twice } = await obtainCode(owner.token, stranger());
    expect((await confirm(owner.token, twice)).status).toBe(201);
    await expectRefused(owner.token, twice);
    const { arrival: _four, ...late } = await obtainCode(owner.token, stranger());
    clock.advance(minute + 1000);
    await expectRefused(owner.token, late);
    expect([await list(owner.token), await list(other.token)].map(({ length }) => length)).toEqual([1, 0]);
  });

  it('422: an unknown provider, and an address that is not configured', async () => {
    const { token } = await createPerson();
    const body = { redirect_uri: app, code_challenge: 'x'.repeat(43) };
    const missing = await test.call('POST', `${identities}/github/link`, { token, body });
    expectError(missing, 422, 'UNPROCESSABLE_ENTITY', 'PROVIDER_NOT_AVAILABLE');
    const elsewhere = { ...body, redirect_uri: `${app}/` };
    const refused = await test.call('POST', `${identities}/google/link`, { token, body: elsewhere });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'REDIRECT_URI_REFUSED');
  });

  it('422: a provider that does not answer', async () => {
    const { token } = await createPerson();
    const down = await startOpenIdServer();
    await down.close();
    await configure(test, token, 'google', { client_id: 'x', client_secret: 'x', issuer: down.issuer });
    const body = { redirect_uri: app, code_challenge: 'x'.repeat(43) };
    const answer = await test.call('POST', `${identities}/google/link`, { token, body });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PROVIDER_FAILED');
  });

  it.each([
    ['no redirect_uri', { redirect_uri: undefined }],
    ['a redirect_uri of 2,001 characters', { redirect_uri: 'x'.repeat(2001) }],
    ['no code_challenge', { code_challenge: undefined }],
    ['a code_challenge of 42 characters', { code_challenge: 'x'.repeat(42) }],
    ['a state of 501 characters', { state: 'x'.repeat(501) }],
    ['an unknown property', { code_challenge_method: 'S256' }],
  ])('400: %s', async (_what, part) => {
    const { token } = await createPerson();
    const body = { redirect_uri: app, code_challenge: 'x'.repeat(43), ...part };
    expectError(await test.call('POST', `${identities}/google/link`, { token, body }), 400, 'VALIDATION_ERROR');
  });

  it('access_denied: the user cancels at the provider', async () => {
    const { token } = await createPerson();
    const body = { redirect_uri: app, code_challenge: createPkce().challenge };
    const begun = await test.call('POST', `${identities}/google/link`, { token, body });
    const arrival = await createBrowser(test).visit(begun.body.data.authorization_url);
    expect(refusalOf({ arrival })).toBe('access_denied');
  });

  it('50 concurrent confirmations of one code create one identity, 20 times', async () => {
    const { token } = await createPerson();
    for (let round = 0; round < 20; round++) {
      const { arrival: _arrival, ...body } = await obtainCode(token, stranger());
      const answers = await inParallel(50, () => test.call('POST', identities, { token, body }));
      expect(countStatuses(answers)).toEqual({ 201: 1, 422: 49 });
    }
    expect(await list(token)).toHaveLength(20);
  });
});

describe('listOwnIdentities', () => {
  it('200: the identities of the caller, in every tenant of the caller', async () => {
    const [mine, other] = [await createPerson(), await createPerson()];
    await link(test, mine.token, { person: stranger() });
    await link(test, other.token, { person: stranger() });
    const { token } = await createMember(test, mine.tenant);
    expect(await list(token)).toEqual([]);
    expect(await list(mine.token)).toHaveLength(1);
  });
});

describe('a session whose second factor counts in one tenant only', () => {
  it('403: neither links nor unlinks an identity of an account with other tenants', async () => {
    const { person, token, tenantId } = await createPerson();
    const { id } = (await link(test, token, { person: stranger() })).body.data;
    await enrolTotp(test, clock, person);
    await joinTenant(test, await createTenant(test), person);
    await test.service.services.database.credential(tenantId).interactive.all({
      kind: 'write',
      text: 'update sessions set assurance_account_wide = false where tenant_id = $1 and user_id = $2',
      values: [tenantId, person.userId],
      prepare: false,
    });
    for (const answer of [await link(test, token, { person: stranger() }), await unlink(token, id)])
      expectError(answer, 403, 'AUTHORIZATION_ERROR', 'ASSURANCE_LIMITED_TO_TENANT');
    expect(await list(token)).toHaveLength(1);
  });
});

describe('unlinkIdentity', () => {
  it('204: the identity cannot log in any more, not even in a login that has started', async () => {
    const { tenant, person, token } = await createPerson();
    const sub = stranger();
    const { id } = (await link(test, token, { person: sub })).body.data;
    const { arrival, verifier } = await attemptLogin(test, sub);
    expect((await unlink(token, id.toUpperCase())).status).toBe(204);
    expect(await list(token)).toEqual([]);
    const body = { code: arrival.url.searchParams.get('code')!, code_verifier: verifier };
    const late = await test.call('POST', '/api/v1/public/auth/oauth/exchange', { body });
    expectError(late, 401, 'AUTHENTICATION_ERROR');
    expect(refusalOf(await attemptLogin(test, sub))).toBe('account_not_linked');
    const [row] = await auditOf(test, tenant.admin, 'auth.identity_unlinked');
    expect(row).toMatchObject({ user_id: person.userId, details: { provider: 'google', identityId: id } });
  });

  it('remains unlinked, even if both sides have verified the address, until the user links it', async () => {
    const { person, token } = await createPerson();
    await proveAddress(test, person.email);
    const { sub } = openId.add({ sub: unique('sub'), email: person.email, email_verified: true });
    expect((await logInThrough(test, sub)).status).toBe(200);
    const [identity] = await list(token);
    expect((await unlink(token, identity!.id)).status).toBe(204);
    for (let count = 0; count < 2; count++) expect(refusalOf(await attemptLogin(test, sub))).toBe('account_not_linked');
    const other = await createPerson();
    expect((await link(test, other.token, { person: sub })).status).toBe(201);
    expect((await logInThrough(test, sub)).body.user.id).toBe(other.person.userId);
    expectError(await link(test, token, { person: sub }), 409, 'CONFLICT', 'IDENTITY_TAKEN');
    const [taken] = await list(other.token);
    expect((await unlink(other.token, taken!.id)).status).toBe(204);
    expect((await link(test, token, { person: sub })).status).toBe(201);
    expect((await logInThrough(test, sub)).body.user.id).toBe(person.userId);
  });

  it('404: one of another user, like an unknown one', async () => {
    const [mine, other] = [await createPerson(), await createPerson()];
    const { id } = (await link(test, mine.token, { person: stranger() })).body.data;
    for (const each of [id, newId()]) expectError(await unlink(other.token, each), 404, 'NOT_FOUND');
    expect(await list(mine.token)).toHaveLength(1);
  });

  it('409: the last login method of an account without a password, also for all except one of several concurrent requests', async () => {
    const { person, token, tenantId } = await createPerson();
    const subs = [stranger(), stranger(), stranger()];
    const ids: string[] = [];
    for (const sub of subs) ids.push((await link(test, token, { person: sub })).body.data.id);
    await withoutPassword(person, tenantId);
    const answers = await Promise.all(ids.map((id) => unlink(token, id)));
    expect(countStatuses(answers)).toEqual({ 204: 2, 409: 1 });
    const [left] = await list(token);
    expectError(await unlink(token, left!.id), 409, 'CONFLICT', 'LAST_LOGIN_METHOD');
    expect((await logInThrough(test, subs[ids.indexOf(left!.id)]!)).status).toBe(200);
  });

  it('409: the last identity for the account, not counting those of one tenant', async () => {
    const { person, token, tenantId } = await createPerson();
    const shared = (await link(test, token, { person: stranger() })).body.data.id;
    const client = await openId.register(await callbackOf(test, token, 'google'));
    await configure(test, token, 'google', { ...client, issuer: openId.issuer });
    const own = (await link(test, token, { person: stranger() })).body.data.id;
    await withoutPassword(person, tenantId);
    expectError(await unlink(token, shared), 409, 'CONFLICT', 'LAST_LOGIN_METHOD');
    expect((await unlink(token, own)).status).toBe(204);
  });

  it('204: the only one, of an account with a password', async () => {
    const { person, token } = await createPerson();
    const { id } = (await link(test, token, { person: stranger() })).body.data;
    expect((await unlink(token, id)).status).toBe(204);
    await logIn(test, person);
  });

  it('400: an invalid id', async () => {
    const { token } = await createPerson();
    expectError(await unlink(token, 'google'), 400, 'VALIDATION_ERROR');
  });
});
