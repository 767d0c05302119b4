import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { newSecret, sha256 } from '#core/base/crypto/secrets';

/** A user at GitHub or Facebook. */
export type Member = { id: number; addresses: { email: string; primary: boolean; verified: boolean }[] };

export type PlainOAuthServer = {
  readonly origin: string;
  readonly client: { client_id: string; client_secret: string };
  /** By the name that the browser's `person` cookie carries. */
  readonly members: Map<string, Member>;
  /** Redeemed codes, for the attacks. */
  readonly redeemed: string[];
  /** The next answers of these paths, instead of the correct ones. */
  readonly broken: Map<string, { status: number; body: string }>;
  close(): Promise<void>;
};

/** Web logins as documented by GitHub (enterprise server) and Facebook: plain OAuth 2 with PKCE and an API. */
export async function startPlainOAuthServer(): Promise<PlainOAuthServer> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const codes = new Map<string, { member: Member; clientId: string; redirectUri: string; challenge: string }>();
  const tokens = new Map<string, Member>();
  const server: PlainOAuthServer = {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    client: { client_id: 'plain-client', client_secret: newSecret() },
    members: new Map(),
    redeemed: [],
    broken: new Map(),
    close: () => new Promise((resolve) => http.close(() => resolve())),
  };
  http.on('request', (request, response) => {
    void serve(request, response).catch(() => response.writeHead(500).end());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, server.origin);
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const broken = server.broken.get(url.pathname);
    if (broken !== undefined) {
      response.writeHead(broken.status, { 'content-type': 'application/json' }).end(broken.body);
      return;
    }
    const member = tokens.get(/^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '');
    const handlers: Record<string, () => unknown> = {
      '/login/oauth/authorize': () => authorize(url, request, response, `${server.origin}/login/oauth`),
      '/v23.0/dialog/oauth': () => authorize(url, request, response, undefined),
      // GitHub answers 200 to a wrong code, with an error in the body.
      '/login/oauth/access_token': async () => json(200, await redeem(request)),
      '/v23.0/oauth/access_token': async () => {
        const answer = await redeem(request);
        return json('error' in answer ? 400 : 200, answer);
      },
      '/api/v3/user': () => (member === undefined ? json(401, {}) : json(200, { id: member.id, login: 'octocat' })),
      '/api/v3/user/emails': () => (member === undefined ? json(401, {}) : json(200, member.addresses)),
      '/v23.0/me': () =>
        member === undefined ? json(400, {}) : json(200, { id: String(member.id), email: member.addresses[0]?.email }),
    };
    await (handlers[url.pathname] ?? (() => json(404, {})))();
  }

  function authorize(url: URL, request: IncomingMessage, response: ServerResponse, iss: string | undefined): void {
    const query = Object.fromEntries(url.searchParams);
    const name = /(?:^|; )person=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    const member = server.members.get(name);
    const isRight =
      query.client_id === server.client.client_id &&
      query.response_type === 'code' &&
      query.code_challenge_method === 'S256' &&
      query.code_challenge !== undefined;
    if (!isRight) {
      response.writeHead(400).end();
      return;
    }
    const back = new URL(query.redirect_uri!);
    const code = newSecret();
    if (member === undefined) back.searchParams.set('error', 'access_denied');
    else {
      codes.set(code, {
        member,
        clientId: query.client_id!,
        redirectUri: query.redirect_uri!,
        challenge: query.code_challenge!,
      });
      back.searchParams.set('code', code);
    }
    back.searchParams.set('state', query.state!);
    if (iss !== undefined) back.searchParams.set('iss', iss);
    response.writeHead(302, { location: back.href }).end();
  }

  async function redeem(request: IncomingMessage): Promise<Record<string, string>> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const form = Object.fromEntries(new URLSearchParams(text));
    const { client_id: id, client_secret: secret } = server.client;
    const pending = codes.get(form.code ?? '');
    const isRight =
      pending !== undefined &&
      form.client_id === id &&
      form.client_secret === secret &&
      form.redirect_uri === pending.redirectUri &&
      sha256(form.code_verifier ?? '').toString('base64url') === pending.challenge;
    if (!isRight) return { error: 'bad_verification_code', error_description: 'The code is incorrect or expired.' };
    codes.delete(form.code!);
    server.redeemed.push(form.code!);
    const token = newSecret();
    tokens.set(token, pending.member);
    return { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' };
  }

  return server;
}
