import type { Actor, Principal, RequestFacts } from '#core/base/access/principal';
import type { SetHeader } from '#core/http/paging';
import { successStatus, type CallTool, type OperationInput, type Route } from '#core/http/route';
import type { Upload } from '#core/http/uploads';
import { createRequestValidator, type RequestValidator } from '#core/http/validation';
import type { Services } from '#core/platform/services';

/** The caller of an operation, and how the operation adds headers and status to the answer. */
export type Caller = {
  principal: Principal | undefined;
  facts: RequestFacts;
  headers: Readonly<Record<string, unknown>>;
  setHeader: SetHeader;
  setStatus(status: number): void;
  untilAbandoned(): AbortSignal;
  callTool: CallTool;
  /**
   * Who calls as of now; a revocation since the request arrived counts.
   * @throws AppError 401 or 403
   */
  currentPrincipal(): Promise<Principal | undefined>;
  /** Since the request arrived. */
  elapsedMs(): number;
  upload?: Upload | undefined;
};

/** A route ready to run, by whichever way it is called. */
export type Operation = {
  readonly route: Route;
  /** The answer of a success. */
  readonly status: number;
  /** Those of the module. */
  readonly services: Services;
  /** @throws AppError where the input is not what the schema of the route says */
  validate(input: OperationInput): void;
  /** Calls the handler with valid input. */
  handle(input: OperationInput, caller: Caller, services: Services): unknown;
  /** Validates the input and calls the handler; whether the caller may is decided before. */
  run(input: OperationInput, caller: Caller): unknown;
  /** The same for a tool, whose params and query do not come out of a URL: a number is one already. */
  runTyped(input: OperationInput, caller: Caller): unknown;
};

export function createOperation(route: Route, services: Services): Operation {
  // The types demand it already; this catches what is built around them.
  if ((route.access as unknown) === undefined) throw new Error(`${route.operationId} has no access rule`);
  const noBody = route.schema.body === undefined ? undefined : null;
  const checkBy = (validate: RequestValidator) => (input: OperationInput) =>
    validate({ params: input.params, query: input.query, body: input.body ?? noBody, form: input.form ?? null });
  const handle = (input: OperationInput, caller: Caller, given: Services) =>
    route.handler(contextOf(input, caller, given));
  const runAfter = (check: (input: OperationInput) => void) => (input: OperationInput, caller: Caller) => {
    check(input);
    return handle(input, caller, services);
  };
  const validate = checkBy(createRequestValidator(route));
  const run = runAfter(validate);
  const runTyped = route.tool === undefined ? run : runAfter(checkBy(createRequestValidator(route, { isTyped: true })));
  return { route, status: successStatus(route), services, validate, handle, run, runTyped };
}

function contextOf({ params, query, body, form }: OperationInput, caller: Caller, services: Services): unknown {
  const { principal, facts } = caller;
  const base = {
    params,
    query,
    body,
    form,
    upload: caller.upload,
    request: { ...facts, headers: caller.headers },
    services,
    setHeader: caller.setHeader,
    setStatus: caller.setStatus,
    untilAbandoned: caller.untilAbandoned,
    callTool: caller.callTool,
  };
  if (principal === undefined) return base;
  const actor: Actor = { ...principal, request: facts };
  return { ...base, actor, db: services.database.tenant(principal.tenantId) };
}
