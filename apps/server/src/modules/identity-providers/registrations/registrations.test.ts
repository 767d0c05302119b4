import { exportPKCS8, generateKeyPair } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';

import { permissionNames } from '#core/base/access/permissions';
import { newId } from '#core/base/crypto/ids';
import { auditOf, expectNoSecrets } from '#modules/auth/testing/steps';
import { registrations as path } from '#modules/identity-providers/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const secret = 'a secret that no answer shows';
const redirect = 'https://app.example.com/done';
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const whole = { client_id: 'client', client_secret: secret, enabled: true, redirect_uris: [redirect] };
const save = (provider: string, body: object, by = token): Promise<Answer> =>
  test.call('PUT', `${path}/${provider}`, { token: by, body });
const read = (provider: string, by = token) => test.call('GET', `${path}/${provider}`, { token: by });

/** The stored row. */
async function stored(of: Tenant, provider: string): Promise<Record<string, unknown>> {
  const rows = await test.service.services.database.tenant(of.tenantId).all<Record<string, unknown>>({
    kind: 'read',
    text: 'select * from identity_providers where tenant_id = $1 and provider = $2',
    values: [of.tenantId, provider],
    prepare: false,
  });
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

describe('listIdentityProviderRegistrations', () => {
  it('200: all five, with the address to register, before any is configured', async () => {
    const fresh = await createTenant(test);
    const answer = await test.call('GET', path, { token: fresh.admin.token });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(
      [
        ['google', 'Google'],
        ['apple', 'Apple'],
        ['microsoft', 'Microsoft'],
        ['github', 'GitHub'],
        ['facebook', 'Facebook'],
      ].map(([provider, name]) => ({
        id: null,
        provider,
        name,
        configured: false,
        enabled: false,
        client_id: null,
        issuer: null,
        redirect_uris: [],
        settings: {},
        callback_url: `http://127.0.0.1:8080/api/v1/public/auth/oauth/${provider}/${fresh.tenantId}/callback`,
        created_at: null,
        updated_at: null,
      })),
    );
  });

  it('200: only those of the caller’s tenant', async () => {
    const [first, second] = [await createTenant(test), await createTenant(test)];
    await save('github', whole, first.admin.token);
    const of = async (by: Tenant) => {
      const { body } = await test.call('GET', path, { token: by.admin.token });
      return body.data.filter((entry: { configured: boolean }) => entry.configured).map((entry: any) => entry.provider);
    };
    expect([await of(first), await of(second)]).toEqual([['github'], []]);
    expectError(await read('github', second.admin.token), 404, 'NOT_FOUND');
  });
});

describe('saveIdentityProviderRegistration', () => {
  it('200: returns the saved configuration, without the secret', async () => {
    const issuer = 'https://sso.example.com/realm';
    const answer = await save('google', { ...whole, issuer, settings: {} });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      provider: 'google',
      name: 'Google',
      configured: true,
      enabled: true,
      client_id: 'client',
      issuer,
      redirect_uris: [redirect],
      settings: {},
      callback_url: `http://127.0.0.1:8080/api/v1/public/auth/oauth/google/${tenant.tenantId}/callback`,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await read('google')).body).toEqual(answer.body);
    const row = await stored(tenant, 'google');
    expect(JSON.stringify(row)).not.toContain(secret);
    expect(row.client_secret).toMatch(/^v1\./);
  });

  it('200: replaces everything except the secret, which remains for the same issuer', async () => {
    const issuer = 'https://sso.example.com';
    const first = await save('github', { ...whole, issuer });
    const before = await stored(tenant, 'github');
    const { client_secret: _kept, ...rest } = whole;
    const second = await save('github', { ...rest, client_id: 'other', enabled: false, issuer });
    expect(second.status).toBe(200);
    expect(second.body.data).toMatchObject({ id: first.body.data.id, client_id: 'other', enabled: false, issuer });
    expect(second.body.data.created_at).toBe(first.body.data.created_at);
    expect((await stored(tenant, 'github')).client_secret).toBe(before.client_secret);
    const third = await save('github', { ...whole, redirect_uris: ['https://other.example.com/'] });
    expect(third.body.data).toMatchObject({
      issuer: null,
      enabled: true,
      redirect_uris: ['https://other.example.com/'],
    });
    expect((await stored(tenant, 'github')).client_secret).not.toBe(before.client_secret);
  });

  it('200: with a key of Apple, and a directory of Microsoft', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const settings = { team_id: 'TEAM123456', key_id: 'KEY1234567' };
    const apple = await save('apple', { ...whole, client_secret: await exportPKCS8(privateKey), settings });
    expect(apple.body.data).toMatchObject({ provider: 'apple', settings });
    const directory = { directory_id: newId() };
    const microsoft = await save('microsoft', { ...whole, settings: directory });
    expect(microsoft.body.data).toMatchObject({ provider: 'microsoft', settings: directory });
    expect((await save('microsoft', { ...whole, issuer: 'https://sso.example.com' })).status).toBe(200);
  });

  it('200: creates one row for concurrent requests', async () => {
    const fresh = await createTenant(test);
    const bodies = Array.from({ length: 20 }, (_, at) => ({ ...whole, client_id: `client-${at}` }));
    const answers = await Promise.all(bodies.map((body) => save('facebook', body, fresh.admin.token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    await stored(fresh, 'facebook');
    expect(await auditOf(test, fresh.admin, 'identity_provider.configured')).toHaveLength(20);
  });

  const edges: [string, object][] = [
    ['a client of 255 characters', { client_id: 'x'.repeat(255) }],
    ['a secret of 4,000 characters', { client_secret: 'x'.repeat(4000) }],
    ['20 addresses', { redirect_uris: Array.from({ length: 20 }, (_, at) => `https://app${at}.example.com/`) }],
    ['an address of 2,000 characters', { redirect_uris: [`https://app.example.com/${'x'.repeat(1976)}`] }],
    [
      'addresses on the same machine',
      { redirect_uris: ['http://localhost:3000/', 'http://127.0.0.1/', 'http://[::1]:1/'] },
    ],
    ['an issuer of 500 characters', { issuer: `https://sso.example.com/${'x'.repeat(476)}` }],
    ['no issuer', { issuer: null }],
  ];
  it.each(edges)('200: %s', async (_what, part) => {
    expect((await save('google', { ...whole, ...part })).status).toBe(200);
  });

  const bad: [string, object][] = [
    ['no client', { client_id: undefined }],
    ['an empty client', { client_id: '' }],
    ['a client of 256 characters', { client_id: 'x'.repeat(256) }],
    ['a client with a space', { client_id: 'a b' }],
    ['an empty secret', { client_secret: '' }],
    ['a secret of 4,001 characters', { client_secret: 'x'.repeat(4001) }],
    ['nothing about being enabled', { enabled: undefined }],
    ['no address', { redirect_uris: [] }],
    ['21 addresses', { redirect_uris: Array.from({ length: 21 }, (_, at) => `https://app${at}.example.com/`) }],
    ['an address twice', { redirect_uris: [redirect, redirect] }],
    ['an address of 2,001 characters', { redirect_uris: [`https://app.example.com/${'x'.repeat(1977)}`] }],
    ['plain http elsewhere', { redirect_uris: ['http://app.example.com/'] }],
    ['plain http to a name that starts like localhost', { redirect_uris: ['http://localhost.example.com/'] }],
    ['an address with a fragment', { redirect_uris: [`${redirect}#x`] }],
    ['an address with a password', { redirect_uris: ['https://a:b@app.example.com/'] }],
    ['an address with a backslash', { redirect_uris: ['https://app.example.com\\@other.example/'] }],
    ['an address that runs script', { redirect_uris: ['javascript:alert(1)'] }],
    ['an address of an app', { redirect_uris: ['com.example.app:/done'] }],
    ['an issuer of 501 characters', { issuer: `https://sso.example.com/${'x'.repeat(477)}` }],
    ['an issuer by plain http', { issuer: 'http://sso.example.com' }],
    ['an issuer with a query', { issuer: 'https://sso.example.com/?tenant=1' }],
    ['a discovery document for an issuer', { issuer: 'https://sso.example.com/.well-known/openid-configuration' }],
    ['an invalid team', { settings: { team_id: 'team' } }],
    ['an invalid directory', { settings: { directory_id: 'common' } }],
    ['an unknown setting', { settings: { hosted_domain: 'example.com' } }],
    ['an unknown property', { scopes: ['email'] }],
  ];
  it.each(bad)('400: %s', async (_what, part) => {
    expectError(await save('google', { ...whole, ...part }), 400, 'VALIDATION_ERROR');
  });

  it.each(['GET', 'PUT', 'DELETE'] as const)('400: %s of an unknown provider', async (method) => {
    for (const provider of ['gitlab', 'Google', newId()]) {
      const body = method === 'PUT' ? { body: whole } : {};
      expectError(await test.call(method, `${path}/${provider}`, { token, ...body }), 400, 'VALIDATION_ERROR');
    }
  });

  it('422: no secret, if none is stored', async () => {
    const fresh = await createTenant(test);
    const answer = await save('google', { ...whole, client_secret: undefined }, fresh.admin.token);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'CLIENT_SECRET_MISSING');
  });

  it('422: no secret for another issuer, which must not receive the stored one', async () => {
    const fresh = await createTenant(test);
    const by = fresh.admin.token;
    const { client_secret: _kept, ...rest } = whole;
    await save('google', whole, by);
    for (const issuer of ['https://attacker.example', 'https://accounts.google.com']) {
      expectError(await save('google', { ...rest, issuer }, by), 422, 'UNPROCESSABLE_ENTITY', 'CLIENT_SECRET_MISSING');
    }
    await save('microsoft', { ...whole, settings: { directory_id: newId() } }, by);
    const moved = await save('microsoft', { ...rest, settings: { directory_id: newId() } }, by);
    expectError(moved, 422, 'UNPROCESSABLE_ENTITY', 'CLIENT_SECRET_MISSING');
    expect((await read('google', by)).body.data.issuer).toBeNull();
  });

  it.each([
    'https://127.0.0.1',
    'http://127.0.0.1:18080',
    'https://169.254.169.254',
    'https://10.0.0.1',
    'https://[::1]',
    'https://sso.example.com:22',
    'https://sso.example.com:5432',
  ])('422: an issuer that is never called: %s', async (issuer) => {
    expectError(await save('google', { ...whole, issuer }), 422, 'UNPROCESSABLE_ENTITY', 'ADDRESS_NOT_ALLOWED');
  });

  const settings: [string, string, object][] = [
    ['apple', 'no settings', {}],
    ['apple', 'no key', { settings: { team_id: 'TEAM123456' } }],
    ['microsoft', 'no directory', {}],
    [
      'microsoft',
      'a directory and an issuer',
      { issuer: 'https://sso.example.com', settings: { directory_id: newId() } },
    ],
    ['google', "Apple's settings", { settings: { team_id: 'TEAM123456', key_id: 'KEY1234567' } }],
  ];
  it.each(settings)('422: %s with %s', async (provider, _what, part) => {
    const answer = await save(provider, { ...whole, ...part });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'SETTINGS_REFUSED');
  });

  it('422: an invalid private key of Apple', async () => {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    for (const key of ['a secret', await exportPKCS8(privateKey)]) {
      const body = { ...whole, client_secret: key, settings: { team_id: 'TEAM123456', key_id: 'KEY1234567' } };
      expectError(await save('apple', body), 422, 'UNPROCESSABLE_ENTITY', 'SIGNING_KEY_REFUSED');
    }
  });

  it('requires an administrator, and records the names of the fields', async () => {
    const fresh = await createTenant(test);
    const member = await createMember(test, fresh, { permissions: [...permissionNames] });
    expectError(await save('google', whole, member.token), 403, 'AUTHORIZATION_ERROR');
    expect((await save('google', whole, fresh.admin.token)).status).toBe(200);
    const [row] = await auditOf(test, fresh.admin, 'identity_provider.configured');
    expect(row).toMatchObject({
      user_id: fresh.admin.userId,
      details: { provider: 'google', fields: ['client_id', 'client_secret', 'enabled', 'redirect_uris'] },
    });
    expect(JSON.stringify(row)).not.toContain(secret);
    expectNoSecrets(test, [secret]);
  });
});

describe('deleteIdentityProviderRegistration', () => {
  it('204: deletes the configuration', async () => {
    const fresh = await createTenant(test);
    const by = fresh.admin.token;
    await save('google', whole, by);
    expect((await test.call('DELETE', `${path}/google`, { token: by })).status).toBe(204);
    expectError(await read('google', by), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${path}/google`, { token: by }), 404, 'NOT_FOUND');
    const [row] = await auditOf(test, fresh.admin, 'identity_provider.deleted');
    expect(row).toMatchObject({ user_id: fresh.admin.userId, details: { provider: 'google' } });
  });

  it('404: one of another tenant', async () => {
    const fresh = await createTenant(test);
    await save('google', whole, fresh.admin.token);
    const stranger = await createTenant(test);
    expectError(await test.call('DELETE', `${path}/google`, { token: stranger.admin.token }), 404, 'NOT_FOUND');
    expect((await read('google', fresh.admin.token)).status).toBe(200);
  });
});

describe('listIdentityProviders', () => {
  const list = (query = '') => test.call('GET', `/api/v1/public/auth/providers${query}`);
  const enabled = (answer: Answer) =>
    answer.body.data.filter((entry: { enabled: boolean }) => entry.enabled).map((entry: { id: string }) => entry.id);

  it.each(['', '?tenantId=01890000-0000-7000-8000-000000000000'])('200: the five, none enabled: %s', async (query) => {
    const answer = await list(query);
    expect(answer.status).toBe(200);
    const { data } = answer.body as { data: { id: string }[] };
    expect(data.map((provider) => provider.id)).toEqual(['google', 'apple', 'microsoft', 'github', 'facebook']);
    for (const provider of data) {
      expect(provider).toEqual({
        id: provider.id,
        name: expect.any(String),
        enabled: false,
        icon: provider.id,
        capabilities: {
          server_callback: true,
          id_token: expect.any(Boolean),
          pkce: true,
          refresh: expect.any(Boolean),
          account_linking: true,
        },
      });
    }
  });

  it('200: the providers that the tenant configured and enabled, only for that tenant', async () => {
    const fresh = await createTenant(test);
    await save('github', whole, fresh.admin.token);
    await save('google', { ...whole, enabled: false }, fresh.admin.token);
    expect(enabled(await list(`?tenantId=${fresh.tenantId}`))).toEqual(['github']);
    expect(enabled(await list(`?tenantId=${fresh.tenantId.toUpperCase()}`))).toEqual(['github']);
    expect(enabled(await list())).toEqual([]);
    expect(enabled(await list(`?tenantId=${(await createTenant(test)).tenantId}`))).toEqual([]);
  });

  it('400: a tenantId that is not a uuid', async () => {
    expectError(await list('?tenantId=acme'), 400, 'VALIDATION_ERROR');
  });
});
