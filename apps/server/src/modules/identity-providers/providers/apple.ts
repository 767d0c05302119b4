import { SignJWT, importPKCS8 } from 'jose';

import { createOpenIdProvider } from '#modules/identity-providers/providers/openid';
import type { Client } from '#modules/identity-providers/providers/provider';

const appleIssuer = 'https://appleid.apple.com';
const secretSeconds = 300;
const keyAlgorithm = 'ES256';

export const apple = createOpenIdProvider({
  issuer: (client) => client.issuer ?? appleIssuer,
  scope: 'openid email',
  // Apple hands out the address to a form post only.
  parameters: { response_mode: 'form_post' },
  clientSecret: signClientSecret,
  email: (claims) => claims.email,
  // "String or Boolean", says Apple.
  isEmailVerified: (claims) => claims.email_verified === true || claims.email_verified === 'true',
});

/** What Apple takes for a client secret: a JWT signed with the key of the developer team. */
async function signClientSecret(client: Client, issuer: string, now: Date): Promise<string> {
  const issuedAt = Math.floor(now.getTime() / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: keyAlgorithm, kid: client.settings.key_id! })
    .setIssuer(client.settings.team_id!)
    .setSubject(client.clientId)
    .setAudience(issuer)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + secretSeconds)
    .sign(await importPKCS8(client.clientSecret, keyAlgorithm));
}

/** Whether the text is a private key as Apple's developer pages hand it out: PKCS#8 in PEM, P-256. */
export async function isSigningKey(pem: string): Promise<boolean> {
  return importPKCS8(pem, keyAlgorithm).then(
    () => true,
    () => false,
  );
}
