import Type from 'typebox';

import { access } from '#core/base/access/access';
import { closed } from '#core/base/schemas';
import { defineRoute, type Module, type Route } from '#core/http/route';
import { endpointPath, protocolVersions, statelessVersion, toolsetsHeader } from '#modules/mcp/catalog';
import type { Offer } from '#modules/mcp/endpoint.service';
import { OriginRefused, ToolsetUnknown } from '#modules/mcp/mcp.errors';
import { acceptsMediaType } from '#modules/mcp/media-types.rules';
import { assertOwnOrigin } from '#modules/mcp/origins';
import { prompts } from '#modules/mcp/prompts';
import { listTools, type Tool } from '#modules/mcp/tools';
import { parseToolsets } from '#modules/mcp/toolset-choice';
import { toolsets } from '#modules/mcp/toolsets';

const Message = closed(
  {
    jsonrpc: Type.Literal('2.0', { description: 'Version of JSON-RPC.' }),
    id: Type.Optional(
      Type.Union(
        [
          Type.String({ maxLength: 200 }),
          Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
        ],
        { description: 'Identifier of the request, repeated in the answer; absent in a notification.' },
      ),
    ),
    method: Type.String({ maxLength: 200, description: 'Method of the protocol, such as `tools/call`.' }),
    params: Type.Optional(
      Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { description: 'Parameters of the method.' }),
    ),
  },
  { description: 'JSON-RPC 2.0 message: a request, or a notification without id.' },
);

const Answer = Type.Unknown({ description: 'JSON-RPC 2.0 answer.' });

/** Accept header that the protocol requires. */
const usualAccept = 'application/json, text/event-stream';

const notAcceptable = { code: -32_000, message: 'Answers are JSON. Accept application/json.' };
const methodNotFound = { code: -32_601, message: 'Method not found' };

const headersRead = {
  'MCP-Protocol-Version': `Protocol revision: ${protocolVersions.join(', ')}. Required by ${statelessVersion}.`,
  'Mcp-Method': `Method of the message. Required by revision ${statelessVersion}.`,
  'Mcp-Name': `Name of the tool or prompt. Required by revision ${statelessVersion} if the message has one.`,
  'X-MCP-Toolsets': 'Toolsets, separated by commas, or all. The query parameter overrides it.',
};

const otherAnswers = {
  202: 'Notification accepted; it has no answer',
  404: `Unknown method (revision ${statelessVersion})`,
  406: notAcceptable.message,
  413: 'The body is too large',
  415: 'The body is not sent as application/json in UTF-8',
};

/** Loaded with the first message: the library of the protocol is large and would delay the start. */
const loadEndpoint = () => import('#modules/mcp/endpoint.service');

/** The endpoint of the Model Context Protocol. */
export function createEndpointRoute(listModules: () => readonly Module[]): Route {
  let tools: ReadonlyMap<string, Tool> | undefined;
  let endpoint: ReturnType<typeof loadEndpoint> | undefined;
  const offerOf = (choice: string | undefined): Offer => {
    tools ??= new Map(listTools(listModules()).map((tool) => [tool.definition.name, tool]));
    return { tools, toolsets: parseToolsets(choice), prompts };
  };
  return defineRoute({
    method: 'POST',
    path: endpointPath,
    operationId: 'exchangeMcpMessage',
    summary: 'Exchange one message of the Model Context Protocol; a tool requires the same access as its operation',
    access: access.anyone('public tools need no credentials'),
    schema: {
      query: Type.Object({
        toolsets: Type.Optional(
          Type.String({
            maxLength: 500,
            description: `Toolsets, separated by commas, or all: ${Object.keys(toolsets).join(', ')}. The header X-MCP-Toolsets has the same meaning.`,
          }),
        ),
      }),
      body: Message,
      response: { 200: Answer },
    },
    headers: headersRead,
    otherAnswers,
    errors: [ToolsetUnknown, OriginRefused],
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
      // Would be an endless stream, but the server has no events to send.
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
