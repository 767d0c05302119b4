import {
  CLIENT_INFO_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
} from '@modelcontextprotocol/server';

import { AppError } from '#core/base/errors/app-error';
import type { Toolset } from '#core/http/tool';
import { endpointPath, instructions, protocolVersions, serverName } from '#modules/mcp/catalog';
import { readOrdinaryCall, renderReply, toResult } from '#modules/mcp/ordinary-calls';
import type { Prompt } from '#modules/mcp/prompts';
import { callTool, mayCall, recordRefusal, type Session } from '#modules/mcp/tool-calls.service';
import { productOf, toToolClient } from '#modules/mcp/tool-client';
import type { Tool } from '#modules/mcp/tools';

/** Tools and prompts that one request can use. */
export type Offer = {
  tools: ReadonlyMap<string, Tool>;
  /** The chosen toolsets; other tools exist, but cannot be called. */
  toolsets: ReadonlySet<Toolset>;
  prompts: readonly Prompt[];
};

export type Headers = Readonly<Record<string, string | undefined>>;

type Incoming = { message: Record<string, unknown>; headers: Headers };

export type Exchange = { status: number; body: string };

/** Request headers that the protocol reads. */
const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];

/**
 * Answers one message. No state is kept: requests of revision 2026-07-28 are complete, and each request of an older client
 * is answered like its first one.
 */
export async function exchange(session: Session, offer: Offer, { message, headers }: Incoming): Promise<Exchange> {
  const ordinary = readOrdinaryCall(message, headers);
  const tool = ordinary === undefined ? undefined : findTool(offer, ordinary.name);
  if (ordinary !== undefined && tool !== undefined) {
    const client = toToolClient(ordinary.clientInfo ?? productOf(session.request.userAgent));
    const reply = await callTool(session, { tool, given: ordinary.given, client });
    return { status: 200, body: renderReply(reply, ordinary, serverInfoOf(session)) };
  }
  return exchangeBySdk(session, offer, { message, headers });
}

/** Answers any message through the SDK. */
export async function exchangeBySdk(session: Session, offer: Offer, { message, headers }: Incoming): Promise<Exchange> {
  const request = toWebRequest(session, headers);
  const server = openServer(session, offer);
  const found: Error[] = [];
  const response = (await isLegacyRequest(request, message))
    ? await answerLegacy(server, request, message)
    : await answerModern(server, request, { message, onerror: (error) => void found.push(error) });
  // Below 500 the SDK rejects the message itself.
  if (response.status >= 500) logFault(session, found.at(-1) ?? new Error(`the SDK answered ${response.status}`));
  const text = await response.text();
  const refusal = readRefusal(text);
  if (refusal === undefined) return { status: response.status, body: text };
  if (message.method === 'tools/call') await recordRefusedCall(session, offer, { params: message.params, refusal });
  return { status: response.status, body: JSON.stringify(refusal) };
}

type Refusal = { error: { code: ProtocolErrorCode; message: string } };

/** Records a call that reached no tool: an unknown name, invalid parameters, or an internal error. */
function recordRefusedCall(
  session: Session,
  offer: Offer,
  { params, refusal }: { params: unknown; refusal: Refusal },
): Promise<void> {
  const { name, _meta } = (params ?? {}) as { name?: unknown; _meta?: Record<string, unknown> };
  const isKnown = typeof name === 'string' && findTool(offer, name) !== undefined;
  const isFault = refusal.error.code === ProtocolErrorCode.InternalError;
  return recordRefusal(session, {
    name,
    client: toToolClient(_meta?.[CLIENT_INFO_META_KEY] ?? productOf(session.request.userAgent)),
    code: isFault ? 'INTERNAL_ERROR' : isKnown ? 'INVALID_PARAMS' : 'UNKNOWN_TOOL',
  });
}

const internalError = 'Internal error';

/**
 * The error of an SDK answer, if it has one. For most methods the SDK reports invalid parameters as an internal error with the JSON
 * of its validator; JSON-RPC 2.0 section 5.1 has a code for them. Internal errors of ours carry no details.
 */
function readRefusal(body: string): Refusal | undefined {
  if (!body.includes('"error"')) return undefined;
  const answer = JSON.parse(body) as Partial<Refusal>;
  if (answer.error === undefined) return undefined;
  const { code, message } = answer.error;
  const issues = /^(?:Invalid \S+ request: )?(\[\s*\{.*\])$/s.exec(message)?.[1];
  const isOther = code !== ProtocolErrorCode.InternalError || message === internalError;
  if (issues === undefined && isOther) return { ...answer, error: answer.error };
  const what = issues === undefined ? '' : `: ${firstOf(issues)}`;
  return { ...answer, error: { code: ProtocolErrorCode.InvalidParams, message: `Invalid params${what}` } };
}

function firstOf(issues: string): string {
  const [{ path, message }] = JSON.parse(issues) as [{ path: (string | number)[]; message: string }];
  return `${path.join('.')}: ${message}`.slice(0, 300);
}

type Modern = { message: unknown; onerror: (error: Error) => void };

function answerModern(server: Server, request: Request, { message, onerror }: Modern): Promise<Response> {
  return createMcpHandler(() => server, { legacy: 'reject', onerror }).fetch(request, { parsedBody: message });
}

async function answerLegacy(server: Server, request: Request, message: unknown): Promise<Response> {
  // As JSON, because no event precedes the answer.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** The headers that are needed to read the message; the body was read and limited like every other body. */
function toWebRequest({ services }: Session, headers: Headers): Request {
  const given = protocolHeaders.flatMap((name): [string, string][] => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  return new Request(`${services.settings.publicUrl}${endpointPath}`, {
    method: 'POST',
    headers: [...given, ['content-type', 'application/json'], ['accept', 'application/json, text/event-stream']],
  });
}

function serverInfoOf({ services }: Session) {
  return { name: serverName, title: 'Atrium', version: services.settings.version };
}

function openServer(session: Session, offer: Offer): Server {
  const server = new Server(serverInfoOf(session), {
    capabilities: { tools: {}, prompts: {} },
    instructions,
    supportedProtocolVersions: [...protocolVersions],
    cacheHints: {
      // The list depends on the permissions of the caller.
      'tools/list': { ttlMs: 60_000, cacheScope: 'private' },
      'prompts/list': { ttlMs: 3_600_000, cacheScope: 'public' },
      'server/discover': { ttlMs: 3_600_000, cacheScope: 'public' },
    },
  });
  const respond = <Result>(answer: () => Result | Promise<Result>) => withoutFaults(session, answer);
  server.setRequestHandler('tools/list', () =>
    respond(() => ({
      tools: [...offer.tools.values()]
        .filter((tool) => offer.toolsets.has(tool.toolset) && mayCall(session, tool))
        .map(({ definition }) => definition),
    })),
  );
  server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }) =>
    respond(async () => {
      const client = toToolClient(server.getClientVersion() ?? productOf(session.request.userAgent));
      const tool = findTool(offer, name);
      if (tool === undefined) throw unknownTool(offer, name);
      return toResult(await callTool(session, { tool, given, client }));
    }),
  );
  server.setRequestHandler('prompts/list', () => respond(() => ({ prompts: offer.prompts.map(presentPrompt) })));
  server.setRequestHandler('prompts/get', ({ params }) => respond(() => getPrompt(offer.prompts, params)));
  return server;
}

/** The SDK sends the text of thrown errors to clients, so internal errors get a neutral text. */
async function withoutFaults<Result>(session: Session, answer: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ProtocolError || error instanceof AppError) throw error;
    logFault(session, error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, internalError);
  }
}

function logFault({ request, services }: Session, error: unknown): void {
  services.log.error({ err: error, requestId: request.id }, 'a message was not answered');
}

function findTool({ tools, toolsets }: Offer, name: string): Tool | undefined {
  const tool = tools.get(name);
  return tool !== undefined && toolsets.has(tool.toolset) ? tool : undefined;
}

function unknownTool({ tools }: Offer, name: string): ProtocolError {
  const toolset = tools.get(name)?.toolset;
  const hint = toolset === undefined ? '' : `: it is in the toolset ${toolset}, which was not chosen`;
  return invalidParams(`Unknown tool ${name.slice(0, 100)}${hint}`);
}

function presentPrompt({ name, title, description, arguments: all }: Prompt) {
  const given = all.map((one) => ({
    name: one.name,
    title: one.title,
    description: one.description,
    required: one.required,
  }));
  return { name, title, description, arguments: given };
}

type PromptRequest = { name: string; arguments?: Record<string, string> | undefined };

function getPrompt(prompts: readonly Prompt[], { name, arguments: values = {} }: PromptRequest) {
  const prompt = prompts.find((one) => one.name === name);
  if (prompt === undefined) throw invalidParams(`Unknown prompt ${name.slice(0, 100)}`);
  const stray = Object.keys(values).find((key) => !prompt.arguments.some((one) => one.name === key));
  if (stray !== undefined) throw invalidParams(`The prompt has no argument ${stray.slice(0, 100)}`);
  for (const argument of prompt.arguments) {
    const value = values[argument.name];
    if (value === undefined && argument.required) throw invalidParams(`The argument ${argument.name} is required`);
    if (value !== undefined && value.length > argument.maxLength)
      throw invalidParams(`The argument ${argument.name} is longer than ${argument.maxLength} characters`);
  }
  return { description: prompt.description, messages: [...prompt.toMessages(values)] };
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
