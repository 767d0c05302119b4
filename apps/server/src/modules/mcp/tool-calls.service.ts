import { decideTool } from '#core/base/access/access';
import type { Actor, RequestFacts, ToolCall, ToolClient } from '#core/base/access/principal';
import { AppError } from '#core/base/errors/app-error';
import { ServiceUnavailable } from '#core/base/errors/common-errors';
import { isoTime } from '#core/base/iso-time';
import { presentError, retryAfterOf } from '#core/http/error-body';
import type { CallTool, OperationInput, Route, ToolOutcome } from '#core/http/route';
import type { Services } from '#core/platform/services';
import { ArgumentUnknown } from '#modules/mcp/mcp.errors';
import { cleanName } from '#modules/mcp/tool-client';
import type { Tool } from '#modules/mcp/tools';

/** The caller of the endpoint, and its access to operations. */
export type Session = {
  actor: Actor | undefined;
  request: RequestFacts;
  services: Pick<Services, 'auditGroups' | 'log' | 'now' | 'settings'>;
  callTool: CallTool;
};

export type ToolArguments = Readonly<Record<string, unknown>>;

/** Text for models, and the same as structure for programs if the tool has an output schema. */
export type ToolReply = {
  text: string;
  structure?: { value: Record<string, unknown>; json: string };
  isError: boolean;
  /** Headers of the route's answer. */
  headers?: Readonly<Record<string, string>>;
};

type Call = { tool: Tool; given: ToolArguments; client: ToolClient | null };

export function mayCall({ actor }: Pick<Session, 'actor'>, { route, definition }: Tool): boolean {
  return decideTool(route.access, actor, { readOnly: definition.annotations.readOnlyHint }).allowed;
}

/**
 * Runs a tool. A change and its audit event are committed together, and a refusal is recorded before it is answered. The event of a
 * successful call follows within moments, because a wait for it would cost more than most reads.
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
    // The change is committed, and its audit event names the tool and the client.
    if (outcome.failure === undefined && !call.tool.definition.annotations.readOnlyHint) return outcome;
    const failure = ServiceUnavailable({ retryAfterSeconds: 1 });
    return { status: failure.status, failure };
  }
}

/** @throws AppError for an argument that belongs to no part of the request. */
function readInput(tool: Tool, given: ToolArguments): OperationInput {
  const stray = Object.keys(given).find((name) => !tool.parts.has(name));
  if (stray !== undefined) throw unknownArgument(stray, tool);
  return toInput(tool, given);
}

function unknownArgument(name: string, { parts }: Tool): AppError {
  const path = `arguments.${name.slice(0, 100)}`;
  const known = [...parts.keys()].join(', ') || 'none';
  const message = `${path}: is not a known argument. Known are: ${known}.`;
  const issues = [{ path, rule: 'additionalProperties', message: 'is not a known argument' }];
  return new AppError(ArgumentUnknown.code, message, { details: { issues } });
}

/** Sorts the arguments into the parts of the request. */
function toInput({ route, parts }: Tool, given: ToolArguments): OperationInput {
  const input = { params: {}, query: {}, body: {} } as Record<'params' | 'query' | 'body', Record<string, unknown>>;
  for (const [name, value] of Object.entries(given)) {
    const part = parts.get(name);
    if (part !== undefined) input[part][name] = value;
  }
  // An optional body without arguments is left out.
  const isEmpty = Object.keys(input.body).length === 0;
  return { ...input, body: isEmpty && !needsBody(route) ? undefined : input.body };
}

function needsBody({ schema: { body } }: Route): boolean {
  const { anyOf = [] } = (body ?? { anyOf: [{ type: 'null' }] }) as { anyOf?: { type?: string }[] };
  return anyOf.every(({ type }) => type !== 'null');
}

const refusalStatuses = { INVALID_PARAMS: 400, UNKNOWN_TOOL: 404, INTERNAL_ERROR: 500 };

type Refusal = { name: unknown; client: ToolClient | null; code: keyof typeof refusalStatuses };

/** Records a call of an unknown or unselected tool, or with invalid parameters. */
export function recordRefusal(session: Session, { name, client, code }: Refusal): Promise<void> {
  return recordCall(session, { tool: cleanName(name), client }, { code, status: refusalStatuses[code] });
}

type Ending = { code: string | undefined; status: number };

function recordCall({ actor, services, request }: Session, toolCall: ToolCall, ending: Ending): Promise<void> {
  // A caller without credentials belongs to no tenant; only the request log has the call.
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

// Only text: many clients validate the structure of errors against the output schema too.
function presentFailure(failure: AppError, { request, services }: Session): ToolReply {
  const body = presentError(failure, request.id, services.now());
  const retryAfter = retryAfterOf(failure);
  if (retryAfter === undefined) return { text: JSON.stringify(body), isError: true };
  // Also for models, which read only the text.
  const details = { ...body.details, retryAfterSeconds: retryAfter };
  const headers = { 'retry-after': String(retryAfter) };
  return { text: JSON.stringify({ ...body, details }), isError: true, headers };
}
