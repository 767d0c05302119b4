import { exportPKCS8, exportSPKI, generateKeyPair, importSPKI, jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf, expectNoSecrets } from '#modules/auth/testing/steps';
import { arrivedWith, createBrowser, createPkce } from '#modules/identity-providers/testing/browser';
import { startOpenIdServer, type OpenIdServer, type Someone } from '#modules/identity-providers/testing/openid-server';
import {
  app,
  attemptLogin,
  callbackOf,
  configure,
  exchange,
  identities,
  logInThrough,
  openLoopback,
  refusalOf,
  registrations,
  startUrl,
} from '#modules/identity-providers/testing/steps';
import { createMember, createTenant, proveAddress, unique, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

vi.setConfig({ testTimeout: 120_000 });
const test = useService({ environment: openLoopback });
let server: OpenIdServer;
let tenant: Tenant;
let tenantId: string;

beforeAll(async () => {
  server = await startOpenIdServer();
  tenant = await createTenant(test);
  ({ tenantId } = tenant);
  const client = await server.register(await callbackOf(test, tenant.admin.token, 'google'));
  await configure(test, tenant.admin.token, 'google', { ...client, issuer: server.issuer });
});
afterEach(() => {
  server.hooks = {};
});
afterAll(() => server.close());

/** A user whose address both sides have verified. */
async function createKnown(claims: Partial<Someone> = {}): Promise<{ member: Person; sub: string }> {
  const member = await createMember(test, tenant);
  await proveAddress(test, member.email);
  const { sub } = server.add({ sub: unique('sub'), email: member.email, email_verified: true, ...claims });
  return { member, sub };
}

const own = (token: string) => test.call('GET', '/api/v1/auth/me', { token });

describe('a login through the provider of a tenant', () => {
  it('sends the browser to the provider with PKCE, state and nonce', async () => {
    const { challenge } = createPkce();
    const url = startUrl(test, { tenantId, state: 'mine', challenge });
    const { status, headers } = await test.call('GET', url.slice('http://127.0.0.1:8080'.length));
    expect(status).toBe(302);
    const location = new URL(headers.location!);
    expect(location.origin).toBe(server.issuer);
    expect(Object.fromEntries(location.searchParams)).toEqual({
      client_id: expect.any(String),
      response_type: 'code',
      scope: 'openid email',
      redirect_uri: `http://127.0.0.1:8080/api/v1/public/auth/oauth/google/${tenantId}/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(location.searchParams.get('state')).not.toBe('mine');
    expect(location.searchParams.get('code_challenge')).not.toBe(challenge);
  });

  it('returns a code and the state of the application, which give a session', async () => {
    const { member, sub } = await createKnown();
    const attempt = await attemptLogin(test, sub, { tenantId, state: 'mine & yours' });
    expect(arrivedWith(attempt.arrival)).toEqual({
      at: app,
      query: { code: expect.stringMatching(/^[\w-]{43}$/), state: 'mine & yours' },
    });
    const answer = await exchange(test, attempt.arrival.url.searchParams.get('code')!, attempt.verifier);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      user: expect.objectContaining({ id: member.userId, email: member.email, tenantId }),
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresIn: 900,
    });
    expect((await own(answer.body.accessToken)).body.data.id).toBe(member.userId);
  });

  it('is recorded as a login with the provider, and the first one also as a link', async () => {
    const { member, sub } = await createKnown();
    await logInThrough(test, sub, { tenantId });
    await logInThrough(test, sub, { tenantId });
    const mine = (rows: { user_id: string | null; details: any }[]) =>
      rows.filter((row) => row.user_id === member.userId).map((row) => row.details.provider);
    expect(mine(await auditOf(test, tenant.admin, 'auth.login'))).toEqual(['google', 'google', undefined]);
    expect(mine(await auditOf(test, tenant.admin, 'auth.identity_linked'))).toEqual(['google']);
  });

  it('still works after a link when the address changes', async () => {
    const { member, sub } = await createKnown();
    await logInThrough(test, sub, { tenantId });
    for (const claims of [{ email_verified: false }, { email: 'other@example.com' }, { email: undefined }]) {
      server.add({ sub, email: member.email, ...claims });
      expect((await logInThrough(test, sub, { tenantId })).body.user.id).toBe(member.userId);
    }
  });

  it('gives access to this tenant only, and not to the account', async () => {
    const { member, sub } = await createKnown();
    const { accessToken: token } = (await logInThrough(test, sub, { tenantId })).body;
    const body = { currentPassword: member.password, newPassword: 'another horse' };
    for (const refused of [
      await test.call('POST', '/api/v1/auth/change-password', { token, body }),
      await test.call('GET', identities, { token }),
      await test.call('POST', `${identities}/google/link`, {
        token,
        body: { redirect_uri: app, code_challenge: createPkce().challenge },
      }),
      await test.call('DELETE', `${identities}/${newId()}`, { token }),
    ])
      expectError(refused, 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
    const refreshed = await test.call('POST', '/api/v1/public/auth/refresh', {
      body: { refreshToken: (await logInThrough(test, sub, { tenantId })).body.refreshToken },
    });
    const later = await test.call('GET', identities, { token: refreshed.body.accessToken });
    expectError(later, 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
  });

  it('requires the second factor of the account', async () => {
    const { sub } = await createKnown();
    const { user, accessToken: token } = (await logInThrough(test, sub, { tenantId })).body;
    await test.service.services.database.credential(tenantId).interactive.all({
      kind: 'write',
      text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
             select account_id, 'totp', now(), now() from users where tenant_id = $1 and id = $2`,
      values: [tenantId, user.id],
      prepare: false,
    });
    const again = (await logInThrough(test, sub, { tenantId })).body.accessToken;
    expect((await own(again)).status).toBe(200);
    const refused = await test.call('GET', '/api/v1/secure/spaces', { token: again });
    expectError(refused, 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    expect(token).not.toBe(again);
  });
});

describe('admission', () => {
  const unlinked: [string, () => Promise<string>][] = [
    [
      'an address without an account here',
      async () => server.add({ sub: unique('sub'), email: 'absent@example.com', email_verified: true }).sub,
    ],
    ['no address', async () => server.add({ sub: unique('sub') }).sub],
    ['an invalid address', async () => server.add({ sub: unique('sub'), email: 'a\0b', email_verified: true }).sub],
    ['a long text', async () => server.add({ sub: unique('sub'), email: 'x'.repeat(255), email_verified: true }).sub],
    ['an address that the provider has not proven', async () => (await createKnown({ email_verified: false })).sub],
    [
      'an address of which the provider says nothing',
      async () => (await createKnown({ email_verified: undefined })).sub,
    ],
    ['an address that is proven in words only', async () => (await createKnown({ email_verified: 'true' })).sub],
    [
      'an address that we have not proven',
      async () => {
        const { email } = await createMember(test, tenant);
        return server.add({ sub: unique('sub'), email, email_verified: true }).sub;
      },
    ],
    [
      'an address that only looks like the proven one',
      async () => {
        const { member } = await createKnown();
        const email = member.email.replace('member', 'ｍember');
        return server.add({ sub: unique('sub'), email, email_verified: true }).sub;
      },
    ],
    [
      'a user of another tenant',
      async () => {
        const { admin } = await createTenant(test);
        await proveAddress(test, admin.email);
        return server.add({ sub: unique('sub'), email: admin.email, email_verified: true }).sub;
      },
    ],
    [
      'a suspended user',
      async () => {
        const { member, sub } = await createKnown();
        await suspend(member);
        return sub;
      },
    ],
  ];
  it.each(unlinked)('account_not_linked, with the same answer: %s', async (_what, make) => {
    const { arrival } = await attemptLogin(test, await make(), { tenantId, state: 'mine' });
    expect(arrivedWith(arrival)).toEqual({
      at: app,
      query: { error: 'account_not_linked', error_description: expect.stringContaining('link it'), state: 'mine' },
    });
  });

  it('an address in upper case is the same address', async () => {
    const { member, sub } = await createKnown();
    server.add({ sub, email: member.email.toUpperCase(), email_verified: true });
    expect((await logInThrough(test, sub, { tenantId })).status).toBe(200);
  });

  async function suspend(member: Person): Promise<void> {
    const url = `/api/v1/secure/users/${member.userId}`;
    const answer = await test.call('PATCH', url, { token: tenant.admin.token, body: { status: 'suspended' } });
    expect(answer.status).toBe(200);
  }

  it('login_refused: a linked user who is suspended; recorded in the tenant of the configuration', async () => {
    const { member, sub } = await createKnown();
    await logInThrough(test, sub, { tenantId });
    await suspend(member);
    expect(refusalOf(await attemptLogin(test, sub, { tenantId }))).toBe('login_refused');
    const [row] = await auditOf(test, tenant.admin, 'auth.login_failed');
    expect(row).toMatchObject({ user_id: null, details: { provider: 'google', reason: 'login_refused' } });
  });

  it('401: a user who is suspended before the exchange of the code', async () => {
    const { member, sub } = await createKnown();
    const { arrival, verifier } = await attemptLogin(test, sub, { tenantId });
    await suspend(member);
    expectError(await exchange(test, arrival.url.searchParams.get('code')!, verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it('a suspended tenant answers like an unknown one; 401 for an earlier code', async () => {
    const closing = await createTenant(test);
    await proveAddress(test, closing.admin.email);
    const client = await server.register(await callbackOf(test, closing.admin.token, 'google'));
    await configure(test, closing.admin.token, 'google', { ...client, issuer: server.issuer });
    const { sub } = server.add({ sub: unique('sub'), email: closing.admin.email, email_verified: true });
    const there = { tenantId: closing.tenantId };
    expect((await logInThrough(test, sub, there)).status).toBe(200);
    const begun = await attemptLogin(test, sub, there);
    const db = test.service.services.database.tenant(closing.tenantId);
    const text = `update tenants set status = 'suspended' where id = $1`;
    await db.interactive.all({ kind: 'write', text, values: [closing.tenantId], prepare: false });
    const code = begun.arrival.url.searchParams.get('code')!;
    expectError(await exchange(test, code, begun.verifier), 401, 'AUTHENTICATION_ERROR');
    const refused = await attemptLogin(test, sub, there);
    const unknown = await attemptLogin(test, sub, { tenantId: newId() });
    const { status, body } = unknown.arrival;
    expect(refused.arrival).toMatchObject({ status, body: { error: body.error, message: body.message } });
  });

  it('a disabled provider admits no user, also not in a started login', async () => {
    const changing = await createTenant(test);
    const { token } = changing.admin;
    await proveAddress(test, changing.admin.email);
    const client = await server.register(await callbackOf(test, token, 'google'));
    const configuration = { ...client, issuer: server.issuer };
    await configure(test, token, 'google', configuration);
    const { sub } = server.add({ sub: unique('sub'), email: changing.admin.email, email_verified: true });
    const there = { tenantId: changing.tenantId };
    const finished = await attemptLogin(test, sub, there);
    const { challenge } = createPkce();
    const halfway = await createBrowser(test, sub).visit(startUrl(test, { ...there, challenge }), ({ pathname }) =>
      pathname.endsWith('/callback'),
    );
    await configure(test, token, 'google', { ...configuration, enabled: false });
    const code = finished.arrival.url.searchParams.get('code')!;
    expectError(await exchange(test, code, finished.verifier), 401, 'AUTHENTICATION_ERROR');
    const back = await test.call('GET', `${halfway.url.pathname}${halfway.url.search}`);
    expectError(back, 401, 'AUTHENTICATION_ERROR');
    const retried = await createBrowser(test, sub).visit(startUrl(test, { ...there, challenge }));
    expect(retried).toMatchObject({ status: 422, body: { details: { code: 'PROVIDER_NOT_AVAILABLE' } } });
  });
});

describe('startProviderLogin', () => {
  const start = (query: Record<string, string | undefined>) => {
    const whole = {
      redirect_uri: app,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
      tenantId,
      ...query,
    };
    const given = Object.entries(whole).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return test.call('GET', `/api/v1/public/auth/oauth/google/start?${new URLSearchParams(given).toString()}`);
  };

  it.each<[string, Record<string, string | undefined>]>([
    ['no redirect_uri', { redirect_uri: undefined }],
    ['a redirect_uri of 2,001 characters', { redirect_uri: `https://app.example.com/${'x'.repeat(1977)}` }],
    ['no code_challenge', { code_challenge: undefined }],
    ['a code_challenge of 42 characters', { code_challenge: 'x'.repeat(42) }],
    ['a code_challenge of 44 characters', { code_challenge: 'x'.repeat(44) }],
    ['a code_challenge in base64', { code_challenge: '+'.repeat(43) }],
    ['no code_challenge_method', { code_challenge_method: undefined }],
    ['a code_challenge in the clear', { code_challenge_method: 'plain' }],
    ['a state of 501 characters', { state: 'x'.repeat(501) }],
    ['a tenant that is not a uuid', { tenantId: 'acme' }],
  ])('400: %s', async (_what, query) => {
    expectError(await start(query), 400, 'VALIDATION_ERROR');
  });

  it('302: a state of 500 characters', async () => {
    expect((await start({ state: 'x'.repeat(500) })).status).toBe(302);
  });

  it('422: no provider for this tenant, without a tenant, and for an unknown tenant', async () => {
    for (const id of [(await createTenant(test)).tenantId, newId(), undefined])
      expectError(await start({ tenantId: id }), 422, 'UNPROCESSABLE_ENTITY', 'PROVIDER_NOT_AVAILABLE');
  });

  it('429: more than 120 logins in a minute from one address', async () => {
    const url = startUrl(test, { tenantId, challenge: 'x'.repeat(43) }).slice('http://127.0.0.1:8080'.length);
    const ip = '198.51.100.7';
    for (let count = 0; count < 120; count++) expect((await test.call('GET', url, { ip })).status).toBe(302);
    const answer = await test.call('GET', url, { ip });
    expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_LOGINS');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await test.call('GET', url, { ip: '198.51.100.8' })).status).toBe(302);
  });
});

describe('a provider that fails', () => {
  it('access_denied: the person changes their mind there', async () => {
    const { arrival } = await attemptLogin(test, undefined, { tenantId, state: 'mine' });
    expect(arrivedWith(arrival).query).toMatchObject({ error: 'access_denied', state: 'mine' });
  });

  it.each<[string, { status: number; body: unknown } | 'hang']>([
    ['an error', { status: 500, body: 'sorry' }],
    ['a refusal', { status: 400, body: { error: 'invalid_grant' } }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['broken JSON', { status: 200, body: '{"access_token":"canary' }],
    ['an empty object', { status: 200, body: {} }],
    ['a list', { status: 200, body: [] }],
    ['no ID token', { status: 200, body: { access_token: 'canary', token_type: 'bearer' } }],
    ['something enormous', { status: 200, body: { access_token: 'x'.repeat(2_000_000) } }],
    ['a redirect', { status: 302, body: '' }],
    ['silence', 'hang'],
  ])('provider_failed: for a code it gives %s', async (_what, answer) => {
    const { sub } = await createKnown();
    server.hooks.request = (path) => (path === '/token' ? answer : undefined);
    const attempt = await attemptLogin(test, sub, { tenantId });
    expect(refusalOf(attempt)).toBe('provider_failed');
    expectNoSecrets(test, ['canary']);
    server.hooks = {};
    expect((await logInThrough(test, sub, { tenantId })).status).toBe(200);
  });

  it('provider_failed: its discovery is invalid, or names another issuer; the next login retries it', async () => {
    const late = await startOpenIdServer();
    try {
      const other = await createTenant(test);
      const { token } = other.admin;
      await configure(test, token, 'google', { client_id: 'x', client_secret: 'x', issuer: late.issuer });
      const there = { tenantId: other.tenantId, state: 'mine' };
      const wrong = { issuer: server.issuer, authorization_endpoint: `${late.issuer}/auth` };
      for (const answer of [
        { status: 503, body: '' },
        { status: 200, body: {} },
        { status: 200, body: wrong },
        { status: 200, body: { ...wrong, issuer: late.issuer, x: 'x'.repeat(65_536) } },
      ]) {
        late.hooks.request = () => answer;
        const { arrival } = await attemptLogin(test, 'unknown', there);
        expect(arrivedWith(arrival).query).toMatchObject({ error: 'provider_failed', state: 'mine' });
      }
      late.hooks = {};
      const { challenge } = createPkce();
      const arrival = await createBrowser(test).visit(
        startUrl(test, { ...there, challenge }),
        ({ origin }) => origin === late.issuer,
      );
      expect(arrival.url.pathname).toBe('/auth');
    } finally {
      await late.close();
    }
  });

  it('fetches the discovery document once, not for every login', async () => {
    const before = server.requests['/.well-known/openid-configuration'];
    await Promise.all(Array.from({ length: 10 }, () => attemptLogin(test, undefined, { tenantId })));
    expect(server.requests['/.well-known/openid-configuration']).toBe(before);
  });
});

describe('an issuer that omits the address from its ID token', () => {
  it('is asked for it at the userinfo endpoint', async () => {
    const careful = await startOpenIdServer({ emailInIdToken: false });
    try {
      const other = await createTenant(test);
      await proveAddress(test, other.admin.email);
      const client = await careful.register(await callbackOf(test, other.admin.token, 'google'));
      await configure(test, other.admin.token, 'google', { ...client, issuer: careful.issuer });
      const { sub } = careful.add({ sub: 'one', email: other.admin.email, email_verified: true });
      expect((await logInThrough(test, sub, { tenantId: other.tenantId })).status).toBe(200);
      expect(careful.requests['/me']).toBe(1);
    } finally {
      await careful.close();
    }
  });
});

describe('apple', () => {
  it('posts a form, and gets a client secret that is signed for each login', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const verifying = await importSPKI(await exportSPKI(publicKey), 'ES256');
    const { token } = tenant.admin;
    const client = await server.register(await callbackOf(test, token, 'apple'));
    await configure(test, token, 'apple', {
      client_id: client.client_id,
      client_secret: await exportPKCS8(privateKey),
      issuer: server.issuer,
      settings: { team_id: 'TEAM123456', key_id: 'KEY1234567' },
    });
    const secrets = new Set<string>();
    server.hooks.tokenRequest = async (form) => {
      const { payload, protectedHeader } = await jwtVerify(form.client_secret!, verifying, {
        issuer: 'TEAM123456',
        subject: client.client_id,
        audience: server.issuer,
        requiredClaims: ['iat', 'exp'],
      });
      expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'KEY1234567' });
      expect(payload.exp! - payload.iat!).toBe(300);
      secrets.add(form.client_secret!);
      return { ...form, client_secret: client.client_secret };
    };
    // As in Apple's documentation.
    const { member, sub } = await createKnown({ email_verified: 'true' });
    for (let count = 0; count < 2; count++) {
      const answer = await logInThrough(test, sub, { provider: 'apple', tenantId });
      expect(answer.body.user.id).toBe(member.userId);
    }
    expect(secrets.size).toBe(2);
  });

  it('returns by a post, also when the user cancels', async () => {
    const attempt = await attemptLogin(test, undefined, { provider: 'apple', tenantId });
    expect(refusalOf(attempt)).toBe('access_denied');
  });
});

describe('microsoft', () => {
  beforeAll(async () => {
    const { token } = tenant.admin;
    const client = await server.register(await callbackOf(test, token, 'microsoft'));
    await configure(test, token, 'microsoft', { ...client, issuer: server.issuer });
  });

  it.each<[string, (email: string) => Partial<Someone>, string | null]>([
    ['an address', (email) => ({ email }), 'account_not_linked'],
    ['an address that is said to be verified', (email) => ({ email, email_verified: true }), 'account_not_linked'],
    [
      'a name like an address',
      (email) => ({ email: undefined, preferred_username: email, xms_edov: true }),
      'account_not_linked',
    ],
    ['an address of a domain that the directory owns', (email) => ({ email, xms_edov: true }), null],
    ['the same in words', (email) => ({ email, xms_edov: 'true' }), 'account_not_linked'],
  ])('%s', async (_what, claims, refusal) => {
    const { member, sub } = await createKnown({ email_verified: undefined });
    server.add({ sub, ...claims(member.email) });
    const attempt = await attemptLogin(test, sub, { provider: 'microsoft', tenantId });
    expect(attempt.arrival.url.searchParams.get('error')).toBe(refusal);
  });
});

describe('the log', () => {
  it('contains none of these secrets', async () => {
    const { sub } = await createKnown();
    const { arrival, verifier } = await attemptLogin(test, sub, { tenantId, state: 'a state of the application' });
    const code = arrival.url.searchParams.get('code')!;
    const { body } = await exchange(test, code, verifier);
    expectNoSecrets(test, [code, verifier, body.accessToken, body.refreshToken, 'a state of the application']);
    const { body: configured } = await test.call('GET', registrations, { token: tenant.admin.token });
    expect(JSON.stringify(configured)).not.toContain('client_secret');
  });
});

describe('without permission for private addresses', () => {
  const closed = useService();

  it('provider_failed: the issuer is never called, and the log says why', async () => {
    const unreached = await startOpenIdServer();
    try {
      const { token } = tenant.admin;
      await configure(test, token, 'google', { client_id: 'x', client_secret: 'x', issuer: unreached.issuer });
      const attempt = await attemptLogin(closed, 'unknown', { tenantId });
      expect(refusalOf(attempt)).toBe('provider_failed');
      expect(unreached.requests).toEqual({});
      expect(closed.logLines.filter((line) => line.includes('is not open to outbound calls'))).toHaveLength(1);
    } finally {
      await unreached.close();
    }
  });
});
