import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

import type { Channel, Message } from '#modules/connectors/messaging/adapter';

export type Received = { method: string; url: URL; headers: IncomingHttpHeaders; body: string };

/** What a provider says to a request; `taken` when it will deliver the message. */
export type Verdict = { status: number; body: unknown; taken?: Message };

/** A provider as its public documentation describes it, with an account at it. */
export type Fake = {
  adapter: string;
  /** The part of the base URL behind the host. */
  basePath: string;
  channels: readonly Channel[];
  config: Record<string, unknown>;
  credentials: Record<string, unknown>;
  /** An account that it does not know. */
  wrongCredentials: Record<string, unknown>;
  judge(request: Received): Verdict;
};

type Misbehave = (response: ServerResponse, request: IncomingMessage) => void;

export type Provider = {
  origin: string;
  /** The messages that it will deliver, and the channel of each. */
  taken: { to: string; text: string }[];
  channels: Channel[];
  requests: Received[];
  /** From now on it does this instead of what its documentation says. */
  misbehave(how: Misbehave): void;
};

/** Serves a fake on a socket until the test ends. */
export async function startProvider(fake: Fake): Promise<Provider> {
  const provider: Omit<Provider, 'origin' | 'misbehave'> = { taken: [], channels: [], requests: [] };
  let misbehave: Misbehave | undefined;
  const server = createServer((request, response) => {
    void read(request).then((received) => {
      provider.requests.push(received);
      if (misbehave !== undefined) return misbehave(response, request);
      const { status, body, taken } = fake.judge(received);
      if (taken !== undefined) {
        provider.taken.push({ to: taken.to, text: taken.text });
        provider.channels.push(taken.channel);
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
  return { ...provider, origin, misbehave: (how) => void (misbehave = how) };
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url!, 'http://provider.test');
  return { method: request.method!, url, headers: request.headers, body: Buffer.concat(chunks).toString() };
}

/** A connector at the provider, as its administrator would create it. */
export function connectorAt(fake: Fake, { origin }: Pick<Provider, 'origin'>, rest: Record<string, unknown> = {}) {
  return {
    category: 'communication',
    api_base_url: `${origin}${fake.basePath}`,
    config: { adapter: fake.adapter, ...fake.config },
    auth_config: fake.credentials,
    ...rest,
  };
}
