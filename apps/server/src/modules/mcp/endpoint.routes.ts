import Type from 'typebox';

import { access } from '#core/access/access';
import { defineRoute, type Module, type Route } from '#core/http/route';
import { closed } from '#core/http/schemas';
import { endpointPath, protocolVersions, statelessVersion, toolsetsHeader } from '#modules/mcp/catalog';
import type { Offer } from '#modules/mcp/endpoint.service';
import { OriginRefused, UnknownToolset } from '#modules/mcp/mcp.errors';
import { acceptsMediaType } from '#modules/mcp/media-types.rules';
import { assertOwnOrigin } from '#modules/mcp/origins';
import { prompts } from '#modules/mcp/prompts';
import { listTools, type Tool } from '#modules/mcp/tools';
import { toolsets } from '#modules/mcp/toolsets';
import { parseToolsets } from '#modules/mcp/toolset-choice';

const Message = closed(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(
      Type.Union([
        Type.String({ maxLength: 200 }),
        Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      ]),
    ),
    method: Type.String({ maxLength: 200 }),
    params: Type.Optional(Type.Record(Type.String({ maxLength: 200 }), Type.Unknown())),
  },
  { description: 'One message of JSON-RPC 2.0: a request, or a notification without id.' },
);

const Answer = Type.Unknown({ description: 'What JSON-RPC 2.0 answers.' });

/** What the protocol has clients send. */
const usualAccept = 'application/json, text/event-stream';

const notAcceptable = { code: -32_000, message: 'Answers are JSON: accept application/json.' };
const methodNotFound = { code: -32_601, message: 'Method not found' };

const headersRead = {
  'MCP-Protocol-Version': `The revision: ${protocolVersions.join(', ')}. ${statelessVersion} demands it.`,
  'Mcp-Method': `The method of the message; revision ${statelessVersion} demands it.`,
  'Mcp-Name': `The name of the tool or prompt; revision ${statelessVersion} demands it where there is one.`,
  'X-MCP-Toolsets': 'Toolsets, several by comma, or all; what the address says goes before.',
};

const otherAnswers = {
  202: 'A notification, which nothing is answered to',
  404: `Unknown method (revision ${statelessVersion})`,
  406: notAcceptable.message,
  413: 'The body is too large',
  415: 'The body is not sent as application/json in UTF-8',
};

/** With the first message: the protocol's library is large, and a start without it is sooner. */
const loadEndpoint = () => import('#modules/mcp/endpoint.service');

/** The endpoint of the tool protocol. */
export function createEndpointRoute(listModules: () => readonly Module[]): Route {
  let tools: ReadonlyMap<string, Tool> | undefined;
  let endpoint: ReturnType<typeof loadEndpoint> | undefined;
  const offerOf = (wanted: string | undefined): Offer => {
    tools ??= new Map(listTools(listModules()).map((tool) => [tool.definition.name, tool]));
    return { tools, toolsets: parseToolsets(wanted), prompts };
  };
  return defineRoute({
    method: 'POST',
    path: endpointPath,
    operationId: 'exchangeMcpMessage',
    summary: 'One message of the Model Context Protocol and its answer; each tool asks for what its operation asks for',
    access: access.anyone('public tools need no credentials'),
    schema: {
      query: Type.Object({
        toolsets: Type.Optional(
          Type.String({
            maxLength: 500,
            description: `Several by comma, or all: ${Object.keys(toolsets).join(', ')}. X-MCP-Toolsets says the same.`,
          }),
        ),
      }),
      body: Message,
      response: { 200: Answer },
    },
    headers: headersRead,
    otherAnswers,
    errors: [UnknownToolset, OriginRefused],
    audit: 'mcp.tool_called',
    takesLong: true,
    hasRpcErrors: true,
    handler: async ({ actor, body, callTool, query, request, services, setHeader, setStatus }) => {
      const { headers } = request;
      assertOwnOrigin(headers['origin'], services.settings);
      const offer = offerOf(query.toolsets ?? headers[toolsetsHeader]);
      setHeader('content-type', 'application/json; charset=utf-8');
      const refuse = (status: number, error: object) => {
        setStatus(status);
        return JSON.stringify({ jsonrpc: '2.0', id: body.id ?? null, error });
      };
      const { accept } = headers;
      if (accept !== usualAccept && !acceptsMediaType(accept, 'application/json')) return refuse(406, notAcceptable);
      // Would be a stream without an end, for news that there are none of.
      if (body.method === 'subscriptions/listen') return refuse(404, methodNotFound);
      endpoint ??= loadEndpoint();
      const { status, body: answer } = await (
        await endpoint
      ).exchange({ actor, request, services, callTool }, offer, {
        message: body,
        headers,
      });
      setStatus(status);
      return answer;
    },
  });
}
