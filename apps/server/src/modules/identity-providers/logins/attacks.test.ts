import { SignJWT, decodeJwt, generateKeyPair, type JWTPayload } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { createClock, minute, statusOf } from '#modules/auth/testing/steps';
import { createBrowser, createPkce, type Browser } from '#modules/identity-providers/testing/browser';
import { startOpenIdServer, type OpenIdServer } from '#modules/identity-providers/testing/openid-server';
import {
  app,
  attemptLogin,
  callbackOf,
  configure,
  exchange,
  identities,
  link,
  logInThrough,
  openLoopback,
  publicAuth,
  refusalOf,
  startUrl,
  type Start,
} from '#modules/identity-providers/testing/steps';
import {
  createMember,
  createTenant,
  joinTenant,
  logIn,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Tenant,
} from '#test/support/factories';
import { expectError, systemAdmin, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ environment: openLoopback, ownDatabase: true, now: clock.now });
/** All tenants trust the first issuer; the second belongs to the attacker, and makes any claim. */
let honest: OpenIdServer;
let evil: OpenIdServer;
let globalClient: { client_id: string; client_secret: string };
let victim: Tenant;
let attacker: Tenant;

beforeAll(async () => {
  [honest, evil] = [await startOpenIdServer(), await startOpenIdServer()];
  const root = await logInSystemAdmin(test);
  globalClient = await honest.register(await callbackOf(test, root.token, 'google'));
  await configure(test, root.token, 'google', { ...globalClient, issuer: honest.issuer });
  victim = await createTenant(test);
  attacker = await createTenant(test);
  await proveAddress(test, victim.admin.email);
  await proveAddress(test, attacker.admin.email);
  await proveAddress(test, systemAdmin.email);
  const client = await evil.register(await callbackOf(test, attacker.admin.token, 'google'));
  await configure(test, attacker.admin.token, 'google', { ...client, issuer: evil.issuer });
});
afterEach(() => {
  honest.hooks = {};
  evil.hooks = {};
});
afterAll(() => Promise.all([honest.close(), evil.close()]));

const atHonest = (email: string) => honest.add({ sub: unique('sub'), email, email_verified: true }).sub;
const atEvil = (email: string) => evil.add({ sub: unique('sub'), email, email_verified: true }).sub;
const isCallback = ({ pathname }: URL) => pathname.endsWith('/callback');

/** A login up to the redirect of the provider, which the browser has not followed yet. */
async function begin(browser: Browser, start: Omit<Start, 'challenge'> = {}) {
  const { verifier, challenge } = createPkce();
  const { url } = await browser.visit(startUrl(test, { ...start, challenge }), isCallback);
  return { callback: url, verifier };
}

const arrive = (url: URL) => test.call('GET', `${url.pathname}${url.search}`);

async function arriveAt(url: URL): Promise<URL> {
  const answer = await arrive(url);
  expect(answer.status).toBe(302);
  return new URL(answer.headers.location!);
}

describe('used states and codes', () => {
  it('a state: the second answer with it is refused without a call to the provider', async () => {
    const { callback, verifier } = await begin(createBrowser(test, atHonest(victim.admin.email)));
    const location = await arriveAt(callback);
    const before = honest.requests['/token'];
    for (let count = 0; count < 3; count++) expectError(await arrive(callback), 401, 'AUTHENTICATION_ERROR');
    expect(honest.requests['/token']).toBe(before);
    expect((await exchange(test, location.searchParams.get('code')!, verifier)).status).toBe(200);
  });

  it('a code: the second exchange is refused, and the session of the first continues', async () => {
    const { arrival, verifier } = await attemptLogin(test, atHonest(victim.admin.email));
    const code = arrival.url.searchParams.get('code')!;
    const { body } = await exchange(test, code, verifier);
    expectError(await exchange(test, code, verifier), 401, 'AUTHENTICATION_ERROR');
    expect(await statusOf(test, body.accessToken)).toBe(200);
  });

  it('a code that was sent with a wrong verifier, also for the correct one', async () => {
    const { arrival, verifier } = await attemptLogin(test, atHonest(victim.admin.email));
    const code = arrival.url.searchParams.get('code')!;
    expectError(await exchange(test, code, createPkce().verifier), 401, 'AUTHENTICATION_ERROR');
    expectError(await exchange(test, code, verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it('a state after ten minutes, a code after one', async () => {
    const newBrowser = () => createBrowser(test, atHonest(victim.admin.email));
    const [early, late] = [await begin(newBrowser()), await begin(newBrowser())];
    clock.advance(10 * minute - 5000);
    const location = await arriveAt(early.callback);
    clock.advance(6000);
    expectError(await arrive(late.callback), 401, 'AUTHENTICATION_ERROR');
    expect((await exchange(test, location.searchParams.get('code')!, early.verifier)).status).toBe(200);
    const [quick, slow] = [await attemptLogin(test, atHonest(victim.admin.email)), await begin(newBrowser())];
    const slowCode = (await arriveAt(slow.callback)).searchParams.get('code')!;
    clock.advance(55_000);
    const quickCode = quick.arrival.url.searchParams.get('code')!;
    expect((await exchange(test, quickCode, quick.verifier)).status).toBe(200);
    clock.advance(6000);
    expectError(await exchange(test, slowCode, slow.verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it.each([
    ['unknown', 'x'.repeat(43)],
    ['of no form that we give out', 'code'],
    ['of 200 characters', 'x'.repeat(200)],
  ])('a code that is %s', async (_what, code) => {
    expectError(await exchange(test, code, createPkce().verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it.each([
    ['a code of 201 characters', { code: 'x'.repeat(201), code_verifier: 'x'.repeat(43) }],
    ['no verifier', { code: 'x'.repeat(43) }],
    ['a verifier of 42 characters', { code: 'x'.repeat(43), code_verifier: 'x'.repeat(42) }],
    ['a verifier of 129 characters', { code: 'x'.repeat(43), code_verifier: 'x'.repeat(129) }],
    ['a verifier of other characters', { code: 'x'.repeat(43), code_verifier: '+'.repeat(43) }],
  ])('400: %s', async (_what, body) => {
    expectError(await test.call('POST', `${publicAuth}/oauth/exchange`, { body }), 400, 'VALIDATION_ERROR');
  });
});

describe('binding of states and codes', () => {
  it('a state is invalid at the address of another provider or registration, and remains valid at its own', async () => {
    const { callback, verifier } = await begin(createBrowser(test, atHonest(victim.admin.email)));
    const elsewhere = [
      'apple',
      'microsoft',
      'github',
      'facebook',
      `google/${victim.tenantId}`,
      `google/${attacker.tenantId}`,
    ];
    for (const place of elsewhere) {
      const answer = await test.call('GET', `${publicAuth}/oauth/${place}/callback${callback.search}`);
      expectError(answer, 401, 'AUTHENTICATION_ERROR');
    }
    const location = await arriveAt(callback);
    expect((await exchange(test, location.searchParams.get('code')!, verifier)).status).toBe(200);
  });

  it("the attacker's code does not fit the victim's state, nor the victim's code the attacker's", async () => {
    const theirs = await begin(createBrowser(test, atHonest(attacker.admin.email)));
    const mine = await begin(createBrowser(test, atHonest(victim.admin.email)));
    const [theirCode, myCode] = [theirs, mine].map(({ callback }) => callback.searchParams.get('code')!);
    mine.callback.searchParams.set('code', theirCode!);
    theirs.callback.searchParams.set('code', myCode!);
    for (const { callback } of [mine, theirs])
      expect((await arriveAt(callback)).searchParams.get('error')).toBe('provider_failed');
  });

  it.each<[string, (url: URL) => void]>([
    ['of another issuer', (url) => url.searchParams.set('iss', evil.issuer)],
    ['without an issuer, although the provider announces one', (url) => url.searchParams.delete('iss')],
    ['without a code', (url) => url.searchParams.delete('code')],
    ['with an error next to the code', (url) => url.searchParams.set('error', 'server_error')],
  ])('provider_failed: an answer %s', async (_what, change) => {
    const { callback } = await begin(createBrowser(test, atHonest(victim.admin.email)));
    change(callback);
    expect((await arriveAt(callback)).searchParams.get('error')).toBe('provider_failed');
  });

  it('a code for a login cannot link, and one for a link cannot log in', async () => {
    const { token } = victim.admin;
    const sub = atHonest(victim.admin.email);
    const login = await attemptLogin(test, sub);
    const body = { code: login.arrival.url.searchParams.get('code')!, code_verifier: login.verifier };
    const refused = await test.call('POST', identities, { token, body });
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'LINK_CODE_REFUSED');
    expectError(await exchange(test, body.code, body.code_verifier), 401, 'AUTHENTICATION_ERROR');
    const { verifier, challenge } = createPkce();
    const begun = await test.call('POST', `${identities}/google/link`, {
      token,
      body: { redirect_uri: app, code_challenge: challenge },
    });
    const { url } = await createBrowser(test, sub).visit(begun.body.data.authorization_url);
    expectError(await exchange(test, url.searchParams.get('code')!, verifier), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('an invalid ID token', () => {
  const signed = (change: (claims: JWTPayload) => JWTPayload) => async (body: Record<string, string>) => ({
    ...body,
    id_token: await honest.sign(change(decodeJwt(body.id_token!))),
  });
  const seconds = () => Math.floor(Date.now() / 1000);

  it('is accepted if it is signed again unchanged, which verifies the test itself', async () => {
    honest.hooks.tokens = signed((claims) => claims);
    expect((await logInThrough(test, atHonest(victim.admin.email))).status).toBe(200);
  });

  it.each<[string, (claims: JWTPayload) => JWTPayload]>([
    ['the nonce of another login', (claims) => ({ ...claims, nonce: 'x'.repeat(43) })],
    ['no nonce', ({ nonce: _nonce, ...claims }) => claims],
    ['another audience', (claims) => ({ ...claims, aud: 'another client' })],
    ['us among other audiences', (claims) => ({ ...claims, aud: [String(claims.aud), 'another client'] })],
    ['another issuer', (claims) => ({ ...claims, iss: evil.issuer })],
    ['an end in the past', (claims) => ({ ...claims, iat: seconds() - 700, exp: seconds() - 60 })],
    ['no end', ({ exp: _exp, ...claims }) => claims],
    ['no subject', ({ sub: _sub, ...claims }) => claims],
    ['an empty name in it', (claims) => ({ ...claims, sub: '' })],
    ['a name of 256 characters', (claims) => ({ ...claims, sub: 'x'.repeat(256) })],
    ['NUL in the name', (claims) => ({ ...claims, sub: 'a\0b' })],
  ])('provider_failed: %s', async (_what, change) => {
    honest.hooks.tokens = signed(change);
    expect(refusalOf(await attemptLogin(test, atHonest(victim.admin.email)))).toBe('provider_failed');
  });

  const forged = (token: string, part: number, text: string) => token.split('.').with(part, text).join('.');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each<[string, (token: string) => string | Promise<string>]>([
    ['claims that were changed', (token) => forged(token, 1, encode({ ...decodeJwt(token), email_verified: 1 }))],
    ['a signature that was changed', (token) => forged(token, 2, Buffer.alloc(256, 1).toString('base64url'))],
    ['no signature', (token) => forged(forged(token, 0, encode({ alg: 'none' })), 2, '')],
    [
      'the signature of another issuer',
      async (token) => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'RS256', kid: 'only' }).sign(privateKey);
      },
    ],
    [
      'the client secret for a signature',
      (token) => {
        const key = new TextEncoder().encode(globalClient.client_secret);
        return new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'HS256' }).sign(key);
      },
    ],
    ['no token at all', () => 'x.y.z'],
  ])('provider_failed: %s', async (_what, change) => {
    honest.hooks.tokens = async (body) => ({ ...body, id_token: await change(body.id_token!) });
    expect(refusalOf(await attemptLogin(test, atHonest(victim.admin.email)))).toBe('provider_failed');
  });

  it('provider_failed: the token of an earlier login', async () => {
    let earlier: string | undefined;
    honest.hooks.tokens = (body) => {
      earlier ??= body.id_token!;
      return { ...body, id_token: earlier };
    };
    const sub = atHonest(victim.admin.email);
    expect((await logInThrough(test, sub)).status).toBe(200);
    expect(refusalOf(await attemptLogin(test, sub))).toBe('provider_failed');
  });
});

describe('the redirect address of a completed login', () => {
  it.each([
    'https://app.example.com/login/done/',
    'https://app.example.com/login/done/more',
    'https://app.example.com/login/done?next=https://evil.example',
    'https://app.example.com/login/done#',
    'https://app.example.com/login/done#@evil.example',
    'https://app.example.com/login/Done',
    'https://APP.example.com/login/done',
    'HTTPS://app.example.com/login/done',
    'https://app.example.com:443/login/done',
    'https://app.example.com./login/done',
    'https://app.example.com/login/../login/done',
    'https://app.example.com/login/%64one',
    'https://app.example.com@evil.example/login/done',
    'https://evil.example@app.example.com/login/done',
    'https://app.example.com.evil.example/login/done',
    'https://evil.example/https://app.example.com/login/done',
    'https://evil.example/?https://app.example.com/login/done',
    'https:app.example.com/login/done',
    '//app.example.com/login/done',
    'http://app.example.com/login/done',
    'javascript://app.example.com/login/done',
    ' https://app.example.com/login/done',
    'https://app.example.com/login/done ',
    'https://app.example.com/login/done\t',
    'https://app.example.com\\login\\done',
    'https://evil.example',
    '/',
  ])('422: %j', async (redirect_uri) => {
    const { challenge } = createPkce();
    const arrival = await createBrowser(test).visit(startUrl(test, { redirect_uri, challenge }));
    expect(arrival).toMatchObject({ status: 422, body: { details: { code: 'REDIRECT_URI_REFUSED' } } });
    const body = { redirect_uri, code_challenge: challenge };
    const linking = await test.call('POST', `${identities}/google/link`, { token: victim.admin.token, body });
    expectError(linking, 422, 'UNPROCESSABLE_ENTITY', 'REDIRECT_URI_REFUSED');
  });

  it("422: an address that another tenant configured, and the attacker's for the installation", async () => {
    const mine = 'https://attacker.example/collect';
    const client = await evil.register(await callbackOf(test, attacker.admin.token, 'google'));
    const addresses = { redirect_uris: [mine] };
    await configure(test, attacker.admin.token, 'google', { ...client, issuer: evil.issuer, ...addresses });
    const { challenge } = createPkce();
    for (const tenantId of [undefined, victim.tenantId]) {
      const url = startUrl(test, { redirect_uri: mine, tenantId, challenge });
      const arrival = await createBrowser(test).visit(url);
      expect(arrival).toMatchObject({ status: 422, body: { details: { code: 'REDIRECT_URI_REFUSED' } } });
    }
    const own = startUrl(test, { tenantId: attacker.tenantId, challenge });
    expect(await createBrowser(test).visit(own)).toMatchObject({ status: 422 });
    await configure(test, attacker.admin.token, 'google', { ...client, issuer: evil.issuer });
  });

  it('401: a registration whose issuer or client has changed meanwhile', async () => {
    const { token } = attacker.admin;
    const client = await evil.register(await callbackOf(test, token, 'google'));
    const there = { tenantId: attacker.tenantId };
    for (const change of [{ issuer: honest.issuer }, { client_id: 'another' }]) {
      await configure(test, token, 'google', { ...client, issuer: evil.issuer });
      const { callback } = await begin(createBrowser(test, atEvil(attacker.admin.email)), there);
      const before = honest.requests['/token'];
      await configure(test, token, 'google', { ...client, issuer: evil.issuer, ...change });
      expectError(await arrive(callback), 401, 'AUTHENTICATION_ERROR');
      expect(honest.requests['/token']).toBe(before);
    }
    await configure(test, token, 'google', { ...client, issuer: evil.issuer });
  });

  it('401: an address that was removed meanwhile', async () => {
    const { token } = attacker.admin;
    const client = await evil.register(await callbackOf(test, token, 'google'));
    const there = { tenantId: attacker.tenantId };
    await configure(test, token, 'google', { ...client, issuer: evil.issuer });
    const { callback } = await begin(createBrowser(test, atEvil(attacker.admin.email)), there);
    const addresses = { redirect_uris: ['https://other.example.com/'] };
    await configure(test, token, 'google', { ...client, issuer: evil.issuer, ...addresses });
    expectError(await arrive(callback), 401, 'AUTHENTICATION_ERROR');
    await configure(test, token, 'google', { ...client, issuer: evil.issuer });
  });
});

describe('an issuer that one tenant configured', () => {
  const there = () => ({ tenantId: attacker.tenantId });

  it.each<[string, () => string]>([
    ["another tenant's administrator", () => victim.admin.email],
    ['a system administrator', () => systemAdmin.email],
  ])('account_not_linked: claims the address of %s', async (_who, email) => {
    expect(refusalOf(await attemptLogin(test, atEvil(email()), there()))).toBe('account_not_linked');
  });

  it('cannot use the subject of a user at the trusted one', async () => {
    const sub = atHonest(victim.admin.email);
    expect((await logInThrough(test, sub)).status).toBe(200);
    evil.add({ sub, email: victim.admin.email, email_verified: true });
    expect(refusalOf(await attemptLogin(test, sub, there()))).toBe('account_not_linked');
  });

  it('gives no access with the id of another tenant, which its own registration serves', async () => {
    const { challenge } = createPkce();
    const elsewhere = await createBrowser(test, 'x').visit(
      startUrl(test, { tenantId: victim.tenantId, challenge }),
      ({ origin }) => origin === honest.issuer || origin === evil.issuer,
    );
    expect(elsewhere.url.origin).toBe(honest.issuer);
  });

  it('gives access to its tenant only for a user of two tenants', async () => {
    const { email } = victim.admin;
    await joinTenant(test, attacker, await logIn(test, { ...victim.admin, tenantId: victim.tenantId }));
    const { user, accessToken: token, ...rest } = (await logInThrough(test, atEvil(email), there())).body;
    expect(user.tenantId).toBe(attacker.tenantId);
    expect(rest).not.toHaveProperty('selectionToken');
    const headers = { 'x-tenant-id': victim.tenantId };
    expectError(await test.call('GET', '/api/v1/secure/users', { token, headers }), 403, 'AUTHORIZATION_ERROR');
    const users = await test.call('GET', '/api/v1/secure/users/' + victim.admin.userId, { token });
    expect(users.status).not.toBe(200);
    const own = await test.call('GET', identities, { token });
    expectError(own, 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
  });

  it('does not make a user a system administrator who is one in another tenant', async () => {
    await joinTenant(test, attacker, await logInSystemAdmin(test));
    const { user, accessToken: token } = (await logInThrough(test, atEvil(systemAdmin.email), there())).body;
    expect(user).toMatchObject({ tenantId: attacker.tenantId, isSystemAdmin: false });
    const outbox = await test.call('GET', '/api/v1/system/mail-outbox', { token });
    expectError(outbox, 403, 'AUTHORIZATION_ERROR');
    for (const tenantId of [systemTenantId, victim.tenantId]) {
      const headers = { 'x-tenant-id': tenantId };
      expectError(await test.call('GET', '/api/v1/secure/users', { token, headers }), 403, 'AUTHORIZATION_ERROR');
    }
  });

  it('never receives the code of another issuer: each has its own callback address', async () => {
    const member = await createMember(test, victim);
    const sub = atHonest(member.email);
    const { url } = await createBrowser(test).visit(
      startUrl(test, { ...there(), challenge: createPkce().challenge }),
      ({ origin }) => origin === evil.issuer,
    );
    // The attacker's issuer redirects the victim to the trusted one, with the state of the attacker's login.
    const misled = (redirectUri: string) => {
      const trusted = new URL(`${honest.issuer}/auth${url.search}`);
      trusted.searchParams.set('client_id', globalClient.client_id);
      trusted.searchParams.set('redirect_uri', redirectUri);
      return createBrowser(test, sub).visit(trusted.href);
    };
    const own = url.searchParams.get('redirect_uri')!;
    expect((await misled(own)).status).toBe(400);
    const before = evil.requests['/token'];
    const arrival = await misled(own.replace(`/${attacker.tenantId}`, ''));
    expect(arrival).toMatchObject({ status: 401, body: { error: 'AUTHENTICATION_ERROR' } });
    expect(evil.requests['/token']).toBe(before);
  });
});

describe('a user who was sent to the provider by an attacker', () => {
  it('a login gives no session without the verifier of its start', async () => {
    const { callback } = await begin(createBrowser(test, atHonest(victim.admin.email)));
    const location = await arriveAt(callback);
    const code = location.searchParams.get('code')!;
    expectError(await exchange(test, code, createPkce().verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it('the identity is not linked to the account of the attacker', async () => {
    const sub = atHonest(victim.admin.email);
    const { challenge } = createPkce();
    const begun = await test.call('POST', `${identities}/google/link`, {
      token: (await logIn(test, { ...victim.admin, tenantId: victim.tenantId })).token,
      body: { redirect_uri: app, code_challenge: challenge },
    });
    const { url } = await createBrowser(test, sub).visit(begun.body.data.authorization_url);
    expect(url.href).toMatch(/^https:\/\/app\.example\.com\/login\/done\?code=[\w-]{43}$/);
    const linked = await link(test, victim.admin.token, { person: sub });
    expect(linked.status).toBe(201);
  });
});
