import { decideTool } from '#core/access/access';
import type { Actor, RequestFacts, ToolCall, ToolClient } from '#core/access/principal';
import { AppError } from '#core/errors/app-error';
import { ServiceUnavailable } from '#core/errors/common-errors';
import { presentError, retryAfterOf } from '#core/http/error-body';
import type { CallTool, OperationInput, Route, ToolOutcome } from '#core/http/route';
import { isoTime } from '#core/iso-time';
import type { Services } from '#core/services';
import { UnknownArgument } from '#modules/mcp/mcp.errors';
import { cleanName } from '#modules/mcp/tool-client';
import type { Tool } from '#modules/mcp/tools';

/** Who is at the endpoint, and what it lets them do. */
export type Session = {
  actor: Actor | undefined;
  request: RequestFacts;
  services: Services;
  callTool: CallTool;
};

export type ToolArguments = Readonly<Record<string, unknown>>;

/** What a model gets to read, and the same as structure for programs where the tool promises one. */
export type ToolReply = {
  text: string;
  structure?: { value: Record<string, unknown>; json: string };
  isError: boolean;
  /** What the answer of the route would say in headers. */
  headers?: Readonly<Record<string, string>>;
};

type Call = { tool: Tool; given: ToolArguments; client: ToolClient | null };

export function mayCall({ actor }: Pick<Session, 'actor'>, { route, definition }: Tool): boolean {
  return decideTool(route.access, actor, { readOnly: definition.annotations.readOnlyHint }).allowed;
}

/**
 * Runs a tool. What it changed is in the trail of the tenant with the change itself, and what was refused before it is
 * answered; that a call succeeded is written down within moments, because to wait for it would cost more than most reads.
 */
export async function callTool(session: Session, call: Call): Promise<ToolReply> {
  const { tool, given, client } = call;
  const outcome = await session.callTool({
    route: tool.route,
    toolCall: { tool: tool.definition.name, client },
    readInput: () => readInput(tool, given),
    settle: (reached) => settle(session, call, reached),
  });
  return outcome.failure === undefined ? presentAnswer(outcome, tool) : presentFailure(outcome.failure, session);
}

async function settle(session: Session, call: Call, outcome: ToolOutcome): Promise<ToolOutcome> {
  try {
    const { tool, client } = call;
    const toolCall = { tool: tool.definition.name, client };
    await recordCall(session, toolCall, { code: outcome.failure?.code, status: outcome.status });
    return outcome;
  } catch (error) {
    session.services.log.error({ err: error, requestId: session.request.id }, 'the call of a tool was not recorded');
    // What is done is done, and its own row of the trail names the tool and the client.
    if (outcome.failure === undefined && !call.tool.definition.annotations.readOnlyHint) return outcome;
    const failure = ServiceUnavailable({ retryAfterSeconds: 1 });
    return { status: failure.status, failure };
  }
}

/** @throws AppError where an argument has no place in the request. */
function readInput(tool: Tool, given: ToolArguments): OperationInput {
  const stray = Object.keys(given).find((name) => !tool.places.has(name));
  if (stray !== undefined) throw unknownArgument(stray, tool);
  return toInput(tool, given);
}

function unknownArgument(name: string, { places }: Tool): AppError {
  const path = `arguments.${name.slice(0, 100)}`;
  const known = [...places.keys()].join(', ') || 'none';
  const message = `${path}: is not a known argument. Known are: ${known}.`;
  const issues = [{ path, rule: 'additionalProperties', message: 'is not a known argument' }];
  return new AppError(UnknownArgument.code, message, { details: { issues } });
}

/** The arguments as the parts of the request that they would be. */
function toInput({ route, places }: Tool, given: ToolArguments): OperationInput {
  const input = { params: {}, query: {}, body: {} } as Record<'params' | 'query' | 'body', Record<string, unknown>>;
  for (const [name, value] of Object.entries(given)) {
    const part = places.get(name);
    if (part !== undefined) input[part][name] = value;
  }
  // No body at all, where there may be none and nothing is given for it.
  const isEmpty = Object.keys(input.body).length === 0;
  return { ...input, body: isEmpty && !needsBody(route) ? undefined : input.body };
}

function needsBody({ schema: { body } }: Route): boolean {
  const { anyOf = [] } = (body ?? { anyOf: [{ type: 'null' }] }) as { anyOf?: { type?: string }[] };
  return anyOf.every(({ type }) => type !== 'null');
}

const refusalStatuses = { INVALID_PARAMS: 400, UNKNOWN_TOOL: 404, INTERNAL_ERROR: 500 };

type Refusal = { name: unknown; client: ToolClient | null; code: keyof typeof refusalStatuses };

/** The call of what is no tool, or none that was asked for, or with what is no parameters. */
export function recordRefusal(session: Session, { name, client, code }: Refusal): Promise<void> {
  return recordCall(session, { tool: cleanName(name), client }, { code, status: refusalStatuses[code] });
}

type Ending = { code: string | undefined; status: number };

function recordCall({ actor, services, request }: Session, toolCall: ToolCall, ending: Ending): Promise<void> {
  // Whom nobody knows belongs to no tenant: the log of requests tells of them.
  if (actor === undefined) return Promise.resolve();
  const { code = 'ok', status } = ending;
  const write = ending.code === undefined ? services.auditGroups.follow : services.auditGroups.record;
  return write({ ...actor, request: { ...request, toolCall } }, isoTime(services.now().getTime()), {
    action: 'mcp.tool_called',
    resourceType: 'tool',
    details: { outcome: code, status },
  });
}

type Answered = Extract<ToolOutcome, { json: string }>;

function presentAnswer({ answer, json, headers }: Answered, { definition }: Tool): ToolReply {
  return {
    text: json === '' ? 'Done.' : json,
    isError: false,
    ...(definition.outputSchema === undefined ? {} : { structure: { value: answer as Record<string, unknown>, json } }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

// As text alone: many clients hold structure against the output schema of the tool, errors too.
function presentFailure(failure: AppError, { request, services }: Session): ToolReply {
  const body = presentError(failure, request.id, services.now());
  const retryAfter = retryAfterOf(failure);
  if (retryAfter === undefined) return { text: JSON.stringify(body), isError: true };
  // For models too, which read the text alone.
  const details = { ...body.details, retryAfterSeconds: retryAfter };
  const headers = { 'retry-after': String(retryAfter) };
  return { text: JSON.stringify({ ...body, details }), isError: true, headers };
}
