import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';

import type { Answer, TestService } from '#test/support/harness';

export const revisions = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof revisions)[number];

type Connection = {
  revision?: Revision;
  headers?: Record<string, string>;
  /** After `?`. */
  query?: string;
};

/** Address of the service of a test, which begins to listen at the first call. */
async function addressOf({ service }: TestService): Promise<string> {
  const { http } = service;
  if (!http.server.listening) await http.listen({ host: '127.0.0.1', port: 0 });
  const address = http.server.address() as { port: number };
  return `http://127.0.0.1:${address.port}`;
}

/** The official client, connected over a real socket; the caller closes it. */
export async function connect(test: TestService, connection: Connection = {}): Promise<Client> {
  const { revision = '2026-07-28', headers = {}, query } = connection;
  const url = new URL(`${await addressOf(test)}/mcp${query === undefined ? '' : `?${query}`}`);
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const);
  const client = new Client({ name: 'test-client', version: '1.2.3' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

let lastId = 0;

/** A raw message of revision 2026-07-28, for content that no client sends. */
export function send(
  test: TestService,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  lastId += 1;
  return test.call('POST', '/mcp', {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
      ...headers,
    },
    body: { jsonrpc: '2.0', id: lastId, method, params: { ...params, _meta: envelope } },
  });
}

export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0.1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Calls a tool: the result of the call. */
export async function callTool(
  test: TestService,
  name: string,
  given: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<any> {
  const answer = await send(test, 'tools/call', { name, arguments: given }, headers);
  expect(answer).toMatchObject({ status: 200, body: { result: { resultType: 'complete' } } });
  return answer.body.result;
}

/** Names in `tools/list`. */
export async function toolNames(test: TestService, headers: Record<string, string>, query = ''): Promise<string[]> {
  const answer = await test.call('POST', `/mcp${query}`, {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list', ...headers },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelope } },
  });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.result.tools.map(({ name }: { name: string }) => name);
}
