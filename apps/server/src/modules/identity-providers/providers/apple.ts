import { SignJWT, importPKCS8 } from 'jose';

import { createOpenIdProvider } from '#modules/identity-providers/providers/openid';
import type { Client } from '#modules/identity-providers/providers/provider';

const appleIssuer = 'https://appleid.apple.com';
const secretSeconds = 300;
const keyAlgorithm = 'ES256';

export const apple = createOpenIdProvider({
  issuer: (client) => client.issuer ?? appleIssuer,
  scope: 'openid email',
  // Apple sends the address only by form post.
  parameters: { response_mode: 'form_post' },
  clientSecret: signClientSecret,
  email: (claims) => claims.email,
  // Apple documents this claim as "String or Boolean".
  isEmailVerified: (claims) => claims.email_verified === true || claims.email_verified === 'true',
});

/** The client secret for Apple: a JWT signed with the key of the developer team. */
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

/** Whether the text is a private key in the form of Apple's developer pages: PKCS#8 in PEM, P-256. */
export async function isSigningKey(pem: string): Promise<boolean> {
  return importPKCS8(pem, keyAlgorithm).then(
    () => true,
    () => false,
  );
}
