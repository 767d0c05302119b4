import { describe, expect, it } from 'vitest';

import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

describe('getJwkSet', () => {
  it('200: only public keys, including the one that signs', async () => {
    const { admin } = await createTenant(test);
    const answer = await test.call('GET', '/.well-known/jwks.json');
    expect(answer.status).toBe(200);
    const { keys } = answer.body as { keys: { kid: string }[] };
    for (const key of keys) {
      expect(key).toEqual({
        kty: 'OKP',
        crv: 'Ed25519',
        x: expect.stringMatching(/^[\w-]{43}$/),
        kid: expect.any(String),
        alg: 'EdDSA',
        use: 'sig',
      });
    }
    const header = JSON.parse(Buffer.from(admin.token.split('.')[0]!, 'base64url').toString());
    expect(header).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) });
    expect(keys.map((key) => key.kid)).toContain(header.kid);
  });
});

describe('an access token', () => {
  it('contains identifiers and times, no permissions and no personal data', async () => {
    const { admin, tenantId } = await createTenant(test);
    const claims = JSON.parse(Buffer.from(admin.token.split('.')[1]!, 'base64url').toString());
    expect(claims).toEqual({
      iss: 'http://127.0.0.1:8080',
      aud: 'atrium',
      sub: admin.userId,
      tid: tenantId,
      sid: expect.any(String),
      acc: expect.any(String),
      iat: expect.any(Number),
      nbf: claims.iat,
      exp: claims.iat + 900,
    });
  });
});
