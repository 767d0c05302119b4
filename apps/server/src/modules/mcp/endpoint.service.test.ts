import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import type { RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { exchange, exchangeBySdk, type Offer } from '#modules/mcp/endpoint.service';
import { readOrdinaryCall } from '#modules/mcp/ordinary-calls';
import { prompts } from '#modules/mcp/prompts';
import { envelope, revisions } from '#modules/mcp/testing/connections';
import type { Session } from '#modules/mcp/tool-calls.service';
import { listTools } from '#modules/mcp/tools';
import { defaultToolsets } from '#modules/mcp/toolsets';
import { useService } from '#test/support/harness';

const test = useService();
const tools = new Map(listTools(modules).map((tool) => [tool.definition.name, tool]));
const offer: Offer = { tools, toolsets: defaultToolsets, prompts };
let session: Session;

beforeEach(() => {
  const request = { id: newId(), userAgent: null } as RequestFacts;
  session = {
    actor: undefined,
    request,
    services: test.service.services,
    // Answers with the input that the operation would get.
    callTool: async ({ readInput, toolCall, settle }) => {
      const answer = { input: inputOf(readInput), client: toolCall.client };
      return settle({ status: 200, answer, json: JSON.stringify(answer), headers: {} });
    },
  };
});

function inputOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}

const name = 'get_space';
const headersOf = (version: string | undefined, method: string) => ({
  'mcp-protocol-version': version,
  'mcp-method': method,
  'mcp-name': name,
});

describe('exchange', () => {
  const odd = fc.constantFrom(
    5,
    -1,
    1.5,
    true,
    null,
    'text',
    '',
    [],
    [1],
    {},
    { a: 1 },
    { listChanged: 5 },
    { form: {} },
  );
  const often = (value: unknown) => ({ arbitrary: fc.constant(value), weight: 5 });
  const orOdd = (value: unknown) => fc.oneof(often(value), { arbitrary: odd, weight: 1 });
  const capabilities = fc.dictionary(
    fc.constantFrom('roots', 'sampling', 'elicitation', 'experimental', 'extensions', 'tasks', 'other'),
    fc.oneof(
      often({}),
      often({ listChanged: true }),
      { arbitrary: odd, weight: 1 },
      { arbitrary: fc.dictionary(fc.constantFrom('listChanged', 'tools', 'form', 'list', 'requests'), odd), weight: 1 },
    ),
    { maxKeys: 2 },
  );
  const clientInfo = fc.record(
    {
      name: orOdd('desk'),
      version: orOdd('1'),
      title: orOdd('Desk'),
      icons: odd,
      websiteUrl: orOdd('https://desk.example'),
      more: odd,
    },
    { requiredKeys: [] },
  );
  const more = fc.record(
    {
      progressToken: orOdd('token'),
      'io.modelcontextprotocol/related-task': odd,
      'io.modelcontextprotocol/logLevel': odd,
      traceparent: odd,
      'com.example/more': odd,
    },
    { requiredKeys: [] },
  );
  const mostly = { requiredKeys: ['io.modelcontextprotocol/protocolVersion' as const] };
  const modern = fc.record(
    {
      'io.modelcontextprotocol/protocolVersion': orOdd('2026-07-28'),
      'io.modelcontextprotocol/clientInfo': fc.oneof(clientInfo, often({ name: 'desk', version: '1' })),
      'io.modelcontextprotocol/clientCapabilities': fc.oneof(capabilities, often({})),
    },
    mostly,
  );
  const message = fc.record({
    meta: fc
      .tuple(fc.oneof(modern, fc.constant({})), fc.oneof(often({}), more))
      .map((parts) => Object.assign({}, ...parts)),
    hasMeta: fc.boolean(),
    id: fc.oneof(often('one'), often(1), { arbitrary: odd, weight: 1 }),
    given: orOdd({ id: 'x' }),
    version: fc.constantFrom('2026-07-28', '2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', undefined),
  });

  it('answers every call like the SDK', async () => {
    let ordinary = 0;
    await fc.assert(
      fc.asyncProperty(message, async ({ meta, hasMeta, id, given, version }) => {
        const params = { name, arguments: given, ...(hasMeta ? { _meta: meta } : {}) };
        const asked = {
          message: { jsonrpc: '2.0', id, method: 'tools/call', params },
          headers: headersOf(version, 'tools/call'),
        };
        if (readOrdinaryCall(asked.message, asked.headers) === undefined) return;
        ordinary += 1;
        const { status, body } = await exchange(session, offer, asked);
        const bySdk = await exchangeBySdk(session, offer, asked);
        expect({ status, body: JSON.parse(body) }).toEqual({ status: bySdk.status, body: JSON.parse(bySdk.body) });
      }),
      { numRuns: 2000 },
    );
    expect(ordinary).toBeGreaterThan(100);
  });

  it.each(revisions)('%s: hides an internal error from the client, and logs it', async (revision) => {
    const secret = newId();
    const broken = {
      ...offer,
      get tools(): never {
        throw new Error(secret);
      },
    };
    const params = revision === '2026-07-28' ? { _meta: envelope } : {};
    test.logLines.length = 0;
    const { body } = await exchange(session, broken, {
      message: { jsonrpc: '2.0', id: 1, method: 'tools/list', params },
      headers: headersOf(revision, 'tools/list'),
    });
    expect(JSON.parse(body)).toMatchObject({ id: 1, error: { code: -32_603, message: 'Internal error' } });
    expect(body).not.toContain(secret);
    const written = () => test.logLines.filter((line) => line.includes(secret)).map((line) => JSON.parse(line));
    await expect.poll(written).toMatchObject([{ level: 'error', requestId: session.request.id }]);
  });
});
