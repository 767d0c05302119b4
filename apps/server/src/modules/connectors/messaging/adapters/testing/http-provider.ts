import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

import type { Message } from '#modules/connectors/messaging/adapter';
import type { Account, Fault, Provider } from '#modules/connectors/messaging/adapters/testing/account';

export type Received = { method: string; url: URL; headers: IncomingHttpHeaders; body: string };

/** What a provider says to a request; `taken` when it will deliver the message. */
export type Verdict = { status: number; body: unknown; taken?: Message };

export type HttpFake = Account & {
  /** The part of the base URL behind the host. */
  basePath: string;
  respond(request: Received): Verdict;
};

type Misbehave = (response: ServerResponse, request: IncomingMessage) => void;

export type HttpProvider = Omit<Provider, 'requests'> & { requests: Received[]; misbehave(how: Misbehave): void };

const faults: Record<Fault, Misbehave> = {
  cut: (_response, request) => request.socket.end(),
  nonsense: (_response, request) => request.socket.end('424242 canary\r\n\r\n'),
  silence: () => undefined,
  error: (response) => response.writeHead(500).end('424242 canary'),
};

export async function startHttpProvider(fake: HttpFake): Promise<HttpProvider> {
  const provider: Omit<HttpProvider, 'origin' | 'misbehave' | 'fail'> = { taken: [], channels: [], requests: [] };
  let misbehave: Misbehave | undefined;
  const server = createServer((request, response) => {
    void read(request).then((received) => {
      provider.requests.push(received);
      if (misbehave !== undefined) return misbehave(response, request);
      const { status, body, taken } = fake.respond(received);
      if (taken !== undefined) {
        const { channel, ...message } = taken;
        provider.taken.push(message as Provider['taken'][number]);
        provider.channels.push(channel);
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const onward = (how: Misbehave) => void (misbehave = how);
  return { ...provider, origin, misbehave: onward, fail: (how) => onward(faults[how]) };
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url!, 'http://provider.test');
  return { method: request.method!, url, headers: request.headers, body: Buffer.concat(chunks).toString() };
}
