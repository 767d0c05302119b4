import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Asked = { method: string; url: URL; headers: IncomingMessage['headers'] };

/** The answer of a provider to a request, as its documentation describes it. */
export type Respond = (asked: Asked) => { status: number; body: unknown };

export type Misbehave = (response: ServerResponse, request: IncomingMessage) => void;

export type ProviderServer = {
  origin: string;
  /** All requests so far. */
  asked: Asked[];
  /** Replaces the answers; undefined restores the documented ones. */
  say(respond: Respond | undefined): void;
  /** Replaces the handling of every request; undefined restores it. */
  misbehave(how: Misbehave | undefined): void;
};

/** Serves a provider on a socket until the test ends. */
export async function serveProvider(documented: Respond): Promise<ProviderServer> {
  const asked: Asked[] = [];
  let respond = documented;
  let misbehave: Misbehave | undefined;
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const one = { method: method!, url: new URL(url!, 'http://provider.test'), headers };
    asked.push(one);
    if (misbehave !== undefined) return misbehave(response, request);
    const { status, body } = respond(one);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    say: (next) => void (respond = next ?? documented),
    misbehave: (how) => void (misbehave = how),
  };
}
