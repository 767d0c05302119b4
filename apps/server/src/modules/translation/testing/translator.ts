import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';

import { unique, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

type Asked = { q: string[]; source: string; target: string };

/** A server with the protocol of LibreTranslate; its translations name the target language. */
export type Translator = {
  origin: string;
  /** All requests in the order of arrival. */
  requests: Asked[];
  /** Runs before each answer. */
  meanwhile: (asked: Asked) => Promise<void> | void;
  /** Called when the connection of a request closes. */
  onClose: () => void;
  /** Replaces all later answers. */
  misbehave(how: (response: ServerResponse, request: IncomingMessage) => void): void;
};

/** The translation of a text by the translator. */
export const inLanguage = (language: string, text: string) => `${text} (${language})`;

/** Serves a translator on a socket until the test ends. */
async function startTranslator(): Promise<Translator> {
  let misbehave: ((response: ServerResponse, request: IncomingMessage) => void) | undefined;
  const translator: Translator = {
    origin: '',
    requests: [],
    meanwhile: () => undefined,
    onClose: () => undefined,
    misbehave: (how) => void (misbehave = how),
  };
  const server = createServer((request, response) => {
    response.once('close', () => translator.onClose());
    void read(request).then(async (asked) => {
      translator.requests.push(asked);
      await translator.meanwhile(asked);
      if (misbehave !== undefined) return misbehave(response, request);
      const translatedText = asked.q.map((text) => inLanguage(asked.target, text));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ translatedText }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  translator.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return translator;
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Asked;
}

/** A translator with a connector of the tenant to it. */
export async function provideTranslator(
  test: TestService,
  { admin }: Pick<Tenant, 'admin'>,
  rest: Record<string, unknown> = {},
): Promise<Translator & { key: string; connectorId: string }> {
  const translator = await startTranslator();
  const body = {
    api_key: unique('translator'),
    api_name: 'Translator',
    api_base_url: translator.origin,
    category: 'app_service',
    config: { adapter: 'libretranslate' },
    ...rest,
  };
  const created = await test.call('POST', '/api/v1/secure/ai/providers', { token: admin.token, body });
  expect(created).toMatchObject({ status: 201 });
  return Object.assign(translator, { key: body.api_key, connectorId: created.body.data.id as string });
}
