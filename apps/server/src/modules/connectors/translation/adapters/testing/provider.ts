import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Received = { method: string; url: URL; headers: IncomingHttpHeaders; body: string };

/** The result of a request; `texts` are translations. */
export type Verdict = { status: number; body: unknown; headers?: Record<string, string> } | { texts: string[] };

/** A provider as its public documentation describes it, with an account at it. Its translations are in upper case. */
export type Fake = {
  adapter: string;
  /** The part of the base URL behind the host. */
  basePath: string;
  config: Record<string, unknown>;
  credentials: Record<string, unknown> | null;
  /** Credentials that it refuses. */
  wrongCredentials: Record<string, unknown>;
  /** Its answer when the paid quota is used up. */
  quotaExceeded: { status: number; body: unknown };
  respond(request: Received): Verdict;
  /** The body of an answer with these texts. */
  answer(texts: readonly unknown[]): Record<string, unknown>;
};

type Misbehave = (response: ServerResponse, verdict: Verdict, request: IncomingMessage) => void;

export type Provider = {
  origin: string;
  requests: Received[];
  /** Maximum number of concurrent requests so far. */
  readonly peak: number;
  /** Replaces how later answers are sent. */
  misbehave(how: Misbehave): void;
  /** Applies this function to all later translations. */
  garble(how: (text: string) => string): void;
};

/** Serves a fake on a socket until the test ends. */
export async function startProvider(fake: Fake): Promise<Provider> {
  const requests: Received[] = [];
  const count = { running: 0, peak: 0 };
  let misbehave: Misbehave = (response, verdict) => respond(fake, response, verdict);
  const server = createServer((request, response) => {
    count.running += 1;
    count.peak = Math.max(count.peak, count.running);
    response.once('close', () => (count.running -= 1));
    void read(request).then((received) => {
      requests.push(received);
      misbehave(response, fake.respond(received), request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get peak() {
      return count.peak;
    },
    misbehave: (how) => void (misbehave = how),
    garble: (how) => {
      misbehave = (response, verdict) =>
        respond(fake, response, 'texts' in verdict ? { texts: verdict.texts.map(how) } : verdict);
    },
  };
}

export function respond(fake: Fake, response: ServerResponse, verdict: Verdict): void {
  const {
    status,
    body,
    headers = {},
  } = 'texts' in verdict ? { status: 200, body: fake.answer(verdict.texts), headers: {} } : verdict;
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url!, 'http://provider.test');
  return { method: request.method!, url, headers: request.headers, body: Buffer.concat(chunks).toString() };
}

/** A connector at the provider, as its administrator would create it. */
export function connectorAt(
  { adapter, basePath, config, credentials }: Pick<Fake, 'adapter' | 'basePath' | 'config' | 'credentials'>,
  { origin }: { origin: string },
  rest: Record<string, unknown> = {},
) {
  return {
    category: 'app_service',
    api_base_url: `${origin}${basePath}`,
    config: { adapter, ...config },
    ...(credentials === null ? {} : { auth_config: credentials }),
    ...rest,
  };
}

/** A translation as the fakes make it: in upper case, but for tags and entities. */
export function shout(markup: string): string {
  return markup.replaceAll(/<[^<>]*>|&#?\w+;|[^<&]+|[<&]/g, (part) =>
    /^[<&]./.test(part) ? part : part.toUpperCase(),
  );
}
