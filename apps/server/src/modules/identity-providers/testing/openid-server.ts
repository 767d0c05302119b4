import { SignJWT, exportJWK, generateKeyPair, type CryptoKey, type JWTPayload } from 'jose';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type KoaContextWithOIDC } from 'oidc-provider';

/** A user at the provider, with the claims of the provider. */
export type Someone = { sub: string } & Record<string, unknown>;

export type OpenIdServer = {
  readonly issuer: string;
  /** A client of the provider, created through its registration endpoint. */
  register(...redirectUris: string[]): Promise<{ client_id: string; client_secret: string }>;
  /** An ID token with any claims, signed by the provider. */
  sign(claims: JWTPayload): Promise<string>;
  /** Registers users; the cookie of the browser decides who logs in, without a dialogue. */
  add(someone: Someone): Someone;
  /** Changes the transferred data, for the attacks. */
  hooks: {
    tokenRequest?: ((form: Record<string, string>) => Promise<Record<string, string>>) | undefined;
    tokens?: ((body: Record<string, string>) => Record<string, unknown> | Promise<Record<string, unknown>>) | undefined;
    /** Called before the provider gets a request: returns an answer, or undefined to continue. */
    request?: ((path: string) => { status: number; body: unknown } | 'hang' | undefined) | undefined;
  };
  /** Number of requests by path. */
  readonly requests: Record<string, number>;
  close(): Promise<void>;
};

/** A certified OpenID Connect provider on this machine. */
export async function startOpenIdServer(options: { emailInIdToken?: boolean } = {}): Promise<OpenIdServer> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const people = new Map<string, Someone>();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const server: OpenIdServer = {
    issuer,
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'only' }).sign(privateKey),
    hooks: {},
    requests: {},
    register: (...redirectUris) => register(issuer, redirectUris),
    add: (someone) => {
      people.set(someone.sub, someone);
      return someone;
    },
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  const provider = await createProvider(issuer, { people, privateKey, ...options });
  provider.use((context, next) => intercept(server, provider, context as KoaContextWithOIDC, next));
  const serve = provider.callback();
  http.on('request', (request, response) => void serve(request, response));
  return server;
}

type Setup = { people: Map<string, Someone>; privateKey: CryptoKey; emailInIdToken?: boolean };

async function createProvider(issuer: string, { people, privateKey, emailInIdToken }: Setup) {
  return new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'only', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['cookie key of a test'] },
    features: { devInteractions: { enabled: false }, registration: { enabled: true } },
    claims: {
      openid: ['sub', 'xms_edov'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username'],
    },
    scopes: ['openid', 'email', 'profile'],
    // Otherwise only the userinfo endpoint returns the address.
    conformIdTokenClaims: emailInIdToken === false,
    renderError: (context, out) => void (context.body = out),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_context, sub) => {
      const someone = people.get(sub);
      return someone === undefined ? undefined : { accountId: sub, claims: () => someone };
    },
    async loadExistingGrant(context) {
      const { client, session } = context.oidc;
      const grant = new context.oidc.provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
}

async function intercept(
  { hooks, requests }: OpenIdServer,
  provider: Provider,
  context: KoaContextWithOIDC,
  next: () => Promise<void>,
): Promise<void> {
  const { path, req, res } = context;
  requests[path] = (requests[path] ?? 0) + 1;
  const answer = hooks.request?.(path);
  if (answer === 'hang') {
    context.respond = false;
    return;
  }
  if (answer !== undefined) {
    context.status = answer.status;
    context.body = answer.body;
    return;
  }
  if (path.startsWith('/interaction/')) {
    context.respond = false;
    const accountId = context.cookies.get('person');
    const refused = { error: 'access_denied', error_description: 'changed their mind' };
    await provider.interactionFinished(req, res, accountId === undefined ? refused : { login: { accountId } });
    return;
  }
  if (path === '/token' && hooks.tokenRequest !== undefined) {
    const form = Object.fromEntries(new URLSearchParams(await readText(req)));
    Object.assign(req, { body: await hooks.tokenRequest(form) });
  }
  await next();
  if (path === '/token' && hooks.tokens !== undefined && context.status === 200)
    context.body = await hooks.tokens(context.body as Record<string, string>);
}

async function register(issuer: string, redirectUris: string[]) {
  const answer = await fetch(`${issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'client_secret_post',
      response_types: ['code'],
      grant_types: ['authorization_code'],
    }),
  });
  const client = (await answer.json()) as { client_id: string; client_secret: string };
  if (answer.status !== 201) throw new Error(`the provider refused the client: ${JSON.stringify(client)}`);
  return { client_id: client.client_id, client_secret: client.client_secret };
}

async function readText(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
