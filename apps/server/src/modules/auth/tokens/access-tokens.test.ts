import { SignJWT, base64url, exportSPKI, generateKeyPair, importJWK } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';

import { generateSigningKey, readSigningKey, type SigningKey } from '#core/base/crypto/access-tokens';
import { newId } from '#core/base/crypto/ids';
import { newSecret } from '#core/base/crypto/secrets';
import { post, statusOf } from '#modules/auth/testing/steps';
import { listSigningKeys } from '#modules/auth/tokens/signing-keys.queries';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();

type Header = Record<string, unknown>;
type Claims = Record<string, unknown>;

let tenant: Tenant;
let other: Tenant;
let genuine: { header: Header; claims: Claims; signature: string };
/** The key that signed the genuine token, which only the service has. */
let ours: SigningKey;
let theirs: SigningKey;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
  const [header, claims, signature] = tenant.admin.token.split('.') as [string, string, string];
  genuine = { header: read(header), claims: read(claims), signature };
  const { database, encryption } = test.service.services;
  const rows = await database.credential().all(listSigningKeys({ createdAfter: '2000-01-01T00:00:00Z' }));
  const row = rows.find((one) => one.id === genuine.header.kid)!;
  const pem = encryption.decrypt(row.private_key, `signing_keys.private_key:${row.id}`);
  ours = readSigningKey(row.id, pem, row.public_jwk);
  const fresh = await generateSigningKey(newId());
  theirs = readSigningKey(fresh.id, fresh.privateKeyPem, fresh.publicJwk);
});

const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
const write = (part: unknown) => base64url.encode(JSON.stringify(part));
const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow;

/** Signed by the service unless `key` is given: only the caller's changes make it invalid. */
async function sign(changes: { header?: Header; claims?: Claims; key?: SigningKey } = {}): Promise<string> {
  const header = write({ ...genuine.header, ...changes.header });
  const content = `${header}.${write({ ...genuine.claims, ...changes.claims })}`;
  const key = (changes.key ?? ours).privateKey.toCryptoKey('Ed25519', false, ['sign']);
  const signature = await crypto.subtle.sign('Ed25519', key, Buffer.from(content));
  return `${content}.${base64url.encode(new Uint8Array(signature))}`;
}

function hmac(alg: 'HS256' | 'HS512', secret: Uint8Array | string): Promise<string> {
  const key = typeof secret === 'string' ? Buffer.from(secret) : secret;
  return new SignJWT(genuine.claims).setProtectedHeader({ ...genuine.header, alg }).sign(key);
}

const unsigned = (header: Header, signature = '') => `${write(header)}.${write(genuine.claims)}.${signature}`;
const part = (at: number) => tenant.admin.token.split('.')[at]!;
const withSignature = (signature: string) => `${part(0)}.${part(1)}.${signature}`;

/** The same 64 bytes in another spelling: four bits of the last character have no meaning. */
function respelled(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(genuine.signature.at(-1)!);
  return withSignature(genuine.signature.slice(0, -1) + alphabet[last ^ 1]);
}

async function es256(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT(genuine.claims).setProtectedHeader({ ...genuine.header, alg: 'ES256' }).sign(privateKey);
}

async function publicPem(): Promise<string> {
  return exportSPKI((await importJWK(ours.publicJwk, 'EdDSA')) as CryptoKey);
}
const publicBytes = () => Buffer.from(ours.publicJwk.x as string, 'base64url');

const forged: [string, () => string | Promise<string>][] = [
  ['alg none without signature', () => unsigned({ ...genuine.header, alg: 'none' })],
  ['alg none with a signature', () => unsigned({ ...genuine.header, alg: 'none' }, genuine.signature)],
  ['alg None', () => unsigned({ ...genuine.header, alg: 'None' }, genuine.signature)],
  ['no alg', () => unsigned({ typ: 'at+jwt', kid: ours.id }, genuine.signature)],
  ['HS256 under the bytes of the public key', () => hmac('HS256', publicBytes())],
  ['HS256 under the public key as PEM', () => publicPem().then((pem) => hmac('HS256', pem))],
  ['HS256 under the public key as JWK', () => hmac('HS256', JSON.stringify(ours.publicJwk))],
  ['HS512 under the bytes of the public key', () => hmac('HS512', publicBytes())],
  ['HS256 under nothing', () => hmac('HS256', '\0')],
  ['ES256', es256],
  ['the same algorithm by another name', () => sign({ header: { alg: 'Ed25519' } })],
  ['the key of another installation', () => sign({ key: theirs, header: { kid: theirs.id } })],
  ['the key of another installation under our kid', () => sign({ key: theirs })],
  ['a key that it brings along', () => sign({ key: theirs, header: { jwk: theirs.publicJwk } })],
  ['a key that it points to', () => sign({ key: theirs, header: { jku: 'http://127.0.0.1:1/jwks.json' } })],
  ['no kid', () => sign({ header: { kid: undefined } })],
  ['an unknown kid', () => sign({ header: { kid: newId() } })],
  ['a kid that is a path', () => sign({ header: { kid: '../../../dev/null' } })],
  ['a kid that is a statement', () => sign({ header: { kid: "' or ''='" } })],
  ['a kid that is a list', () => sign({ header: { kid: [ours.id] } })],
  ['a kid of the prototype', () => sign({ header: { kid: '__proto__' } })],
  ['another typ', () => sign({ header: { typ: 'JWT' } })],
  ['no typ', () => sign({ header: { typ: undefined } })],
  ['an extension that must be understood', () => sign({ header: { crit: ['exp'], exp: seconds(900) } })],
  ['a payload that is not encoded', () => sign({ header: { b64: false, crit: ['b64'] } })],
  ['another issuer', () => sign({ claims: { iss: 'http://127.0.0.1:8081' } })],
  ['no issuer', () => sign({ claims: { iss: undefined } })],
  ['another audience', () => sign({ claims: { aud: 'another' } })],
  ['a list of other audiences', () => sign({ claims: { aud: ['one', 'two'] } })],
  ['no audience', () => sign({ claims: { aud: undefined } })],
  ['expired', () => sign({ claims: { exp: seconds(-6) } })],
  ['no expiry', () => sign({ claims: { exp: undefined } })],
  ['text for the expiry', () => sign({ claims: { exp: '9999999999' } })],
  ['not valid yet', () => sign({ claims: { nbf: seconds(60) } })],
  ['no time of issue', () => sign({ claims: { iat: undefined } })],
  ['no session', () => sign({ claims: { sid: undefined } })],
  ['a session that never was', () => sign({ claims: { sid: newId() } })],
  ['a session that is not a uuid', () => sign({ claims: { sid: '1' } })],
  ['a session that is a list', () => sign({ claims: { sid: [genuine.claims.sid] } })],
  ['the session of another tenant', () => sign({ claims: { tid: other.tenantId } })],
  ['no tenant', () => sign({ claims: { tid: undefined } })],
  ['a tenant in capitals', () => sign({ claims: { tid: tenant.tenantId.toUpperCase() } })],
  ['no subject', () => sign({ claims: { sub: undefined } })],
  ['no account', () => sign({ claims: { acc: undefined } })],
  [
    'a payload changed after signing',
    () => `${part(0)}.${write({ ...genuine.claims, tid: other.tenantId })}.${part(2)}`,
  ],
  ['a header changed after signing', () => `${write({ ...genuine.header, cty: 'x' })}.${part(1)}.${part(2)}`],
  ['the signature of another token', () => withSignature(other.admin.token.split('.')[2]!)],
  ['a signature without its last character', () => withSignature(part(2).slice(0, -1))],
  ['half a signature', () => withSignature(part(2).slice(0, 43))],
  ['no signature', () => withSignature('')],
  ['the signature in another spelling', respelled],
  ['the signature with padding', () => withSignature(`${part(2)}==`)],
  ['a signature of zeros', () => withSignature('A'.repeat(86))],
  ['two parts', () => `${part(0)}.${part(1)}`],
  ['four parts', () => `${tenant.admin.token}.${part(2)}`],
  ['five parts, as if encrypted', () => `${part(0)}..${part(1)}.${part(2)}.x`],
  ['a payload that is not an object', () => `${part(0)}.${base64url.encode('[]')}.${part(2)}`],
  ['a header that is not JSON', () => `${base64url.encode('{')}.${part(1)}.${part(2)}`],
  ['in capitals', () => tenant.admin.token.toUpperCase()],
  ['twice', () => tenant.admin.token.repeat(2)],
  ['10 000 characters', () => 'x'.repeat(10_000)],
  ['10 000 dots', () => '.'.repeat(10_000)],
  ['a refresh token', () => tenant.admin.refreshToken],
  ['any secret', () => newSecret()],
];

describe('an access token', () => {
  it('is accepted if it is valid: the helper that signs forged tokens signs a genuine one', async () => {
    expect(await statusOf(test, tenant.admin.token)).toBe(200);
    expect(await statusOf(test, await sign())).toBe(200);
    expect(await statusOf(test, await sign({ claims: { aud: ['one', 'atrium'], exp: seconds(60) } }))).toBe(200);
  });

  it.each(forged)('401: %s', async (_what, forge) => {
    const token = await forge();
    // Twice, because a refused token must not be cached as valid.
    for (let count = 0; count < 2; count++) {
      const answer = await test.call('GET', '/api/v1/auth/me', { token });
      expect({ status: answer.status, error: answer.body.error }).toEqual({
        status: 401,
        error: expect.stringMatching(/^(INVALID_TOKEN|TOKEN_EXPIRED)$/),
      });
    }
  });

  it('401: with any one character changed', async () => {
    const { token } = tenant.admin;
    for (let at = 0; at < token.length; at += 7) {
      const changed = token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1);
      expect({ at, status: await statusOf(test, changed) }).toEqual({ at, status: 401 });
    }
    expect(await statusOf(test, token)).toBe(200);
  });

  it.each([
    ['another scheme', (token: string) => `Basic ${token}`],
    ['no scheme', (token: string) => token],
    ['no token', () => 'Bearer'],
    ['a blank token', () => 'Bearer  '],
    ['two tokens', (token: string) => `Bearer ${token}, Bearer ${token}`],
    ['a token and more', (token: string) => `Bearer ${token} x`],
    ['a quoted token', (token: string) => `Bearer "${token}"`],
  ])('401: %s', async (_what, header) => {
    const headers = { authorization: header(tenant.admin.token) };
    expectError(await test.call('GET', '/api/v1/auth/me', { headers }), 401, 'INVALID_TOKEN');
  });

  it('200: the scheme in any case', async () => {
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${tenant.admin.token}` };
      expect((await test.call('GET', '/api/v1/auth/me', { headers })).status).toBe(200);
    }
  });

  it('401: in the URL or the body', async () => {
    const { token } = tenant.admin;
    expectError(await test.call('GET', `/api/v1/auth/me?access_token=${token}`), 401, 'AUTHENTICATION_ERROR');
    expect((await post(test, 'logout', undefined, { headers: { cookie: `token=${token}` } })).status).toBe(200);
    expect(await statusOf(test, token)).toBe(200);
  });
});
