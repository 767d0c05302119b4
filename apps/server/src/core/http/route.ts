import type { Static, TObject, TSchema } from 'typebox';

import type { Access, Flags } from '#core/base/access/access';
import type { Actor, Person, Principal, RequestFacts, SessionPrincipal, ToolCall } from '#core/base/access/principal';
import type { AppError, ErrorDefinition } from '#core/base/errors/app-error';
import type { TenantDb } from '#core/data/db/scopes';
import type { SetHeader } from '#core/http/paging';
import type { ToolMetadata, WritingToolMetadata } from '#core/http/tool';
import type { Upload } from '#core/http/uploads';
import type { Job } from '#core/platform/jobs/job';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type RouteSchemas = {
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  /** A form instead of JSON (`application/x-www-form-urlencoded`); its values are texts, each name is there once. */
  form?: TObject;
  /** A body of any size, taken as it arrives: the media types of it, or all. */
  upload?: readonly [string, ...string[]];
  /**
   * Exactly one success status; `null` where the answer has no body (204, and 302 with a `Redirect`). `FileContent` where
   * the handler answers with a `Download`, of which requests may ask for parts; `StreamedContent` where with a `Stream`.
   */
  response: { readonly [Status in 200 | 201 | 202 | 204 | 302]?: TSchema | null };
};

/** The answer of a handler whose route declares 302. */
export type Redirect = { location: string };

type SchemaOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;

type ContextBase<Schemas extends RouteSchemas> = {
  params: SchemaOf<Schemas['params']>;
  query: SchemaOf<Schemas['query']>;
  body: SchemaOf<Schemas['body']>;
  form: SchemaOf<Schemas['form']>;
  upload: Schemas['upload'] extends readonly string[] ? Upload : undefined;
  request: RequestFacts & { headers: Readonly<Record<string, string | undefined>> };
  services: Services;
  setHeader: SetHeader;
  /** Instead of the success status of the route; `otherAnswers` describes it. */
  setStatus(status: number): void;
  /** Aborted once the client has left or the process stops, with the error to throw then; for work that takes long. */
  untilAbandoned(): AbortSignal;
  /** Calls another operation for the same caller. */
  callTool: CallTool;
};

type CallerOf<Rule extends Access> = Rule extends { kind: 'public' }
  ? { actor?: never; db?: never }
  : Rule extends { kind: 'optional' }
    ? { actor: Actor<SessionPrincipal> | undefined; db?: never }
    : Rule extends { kind: 'anyone' }
      ? { actor: Actor | undefined; db?: never }
      : Rule extends { kind: 'dispatcher' }
        ? { actor: Actor<Person> | undefined; db?: never }
        : { actor: Actor<CallerKind<Rule>>; db: TenantDb };

type CallerKind<Rule extends Access> = Rule extends { kind: 'session' }
  ? SessionPrincipal
  : Rule extends { flags: undefined }
    ? Person
    : Rule extends { flags: Flags | undefined }
      ? Principal
      : Person;

/** The access rule decides what the handler receives: public handlers have neither actor nor database. */
export type Context<Rule extends Access, Schemas extends RouteSchemas> = ContextBase<Schemas> & CallerOf<Rule>;

/** The method, and what follows from it for a route that models may call as a tool. */
type MethodAndTool =
  | { method: 'POST' | 'PUT'; tool?: WritingToolMetadata }
  | { method: Exclude<Method, 'POST' | 'PUT'>; tool?: ToolMetadata };

export type RouteDefinition<
  Rule extends Access = Access,
  Schemas extends RouteSchemas = RouteSchemas,
> = MethodAndTool & {
  /** With `{name}` for parameters, as the specification writes it. */
  path: `/${string}`;
  operationId: string;
  summary: string;
  access: Rule;
  schema: Schemas;
  /** Headers of the request that the handler reads, and what each says. */
  headers?: Readonly<Record<string, string>>;
  /** Other statuses that the handler sets (`setStatus`), and when. */
  otherAnswers?: Readonly<Record<number, string>>;
  /** Errors in addition to those that every route shares. */
  errors?: readonly ErrorDefinition[];
  /** The action written to the audit trail; mandatory wherever something changes. `none` gives the reason for its absence. */
  audit?: string | { none: string };
  /** Answers something else than JSON; `reply` content types by status. */
  contentTypes?: readonly string[];
  /**
   * The handler timeout does not apply. The handler must limit its concurrency with `processPermits` and stop at
   * `untilAbandoned()`.
   */
  takesLong?: boolean;
  /** The handler may answer with a `JsonStream` instead of the whole value. */
  mayStream?: boolean;
  /** Failures are answered with `{error, message}` and nothing else; the same for every method of the path. */
  hasBriefErrors?: boolean;
  /** Failures are answered as errors of JSON-RPC, which hold the standard body; the same for every method of the path. */
  hasRpcErrors?: boolean;
  handler(context: Context<Rule, Schemas>): unknown;
};

/** A route with its types erased, as the registry keeps it. */
export type Route = {
  method: Method;
  path: `/${string}`;
  operationId: string;
  summary: string;
  access: Access;
  schema: RouteSchemas;
  headers: Readonly<Record<string, string>>;
  otherAnswers: Readonly<Record<number, string>>;
  errors: readonly ErrorDefinition[];
  audit: string | { none: string } | undefined;
  contentTypes: readonly string[];
  takesLong: boolean;
  mayStream: boolean;
  hasBriefErrors: boolean;
  hasRpcErrors: boolean;
  tool: ToolMetadata | undefined;
  handler(context: unknown): unknown;
};

/** The parts of a request as they came. */
export type OperationInput = { params: unknown; query: unknown; body: unknown; form?: unknown };

/** The outcome of a tool: the answer, also as JSON, or the error as the caller may see it. */
export type ToolOutcome =
  | { status: number; failure?: never; answer: unknown; json: string; headers: Readonly<Record<string, string>> }
  | { status: number; failure: AppError };

export type OperationCall = {
  route: Route;
  toolCall: ToolCall;
  /** Returns input with its types. Called once the caller is known to be permitted. @throws AppError */
  readInput(): OperationInput;
  /** Completes an outcome before it is returned, within the same timeout; resolves with the outcome to return. */
  settle(outcome: ToolOutcome): Promise<ToolOutcome>;
};

/** Runs an operation that is a tool as a request to its route would, for the caller of the current request. */
export type CallTool = (call: OperationCall) => Promise<ToolOutcome>;

/** Defines an operation once; routing, OpenAPI, the route table and the access matrix derive from it. */
export function defineRoute<const Rule extends Access, const Schemas extends RouteSchemas>(
  definition: RouteDefinition<Rule, Schemas>,
): Route {
  const mutates = definition.method !== 'GET';
  if (mutates && definition.audit === undefined) {
    throw new Error(
      `${definition.operationId} changes something: name its audit action, or give the reason for its absence`,
    );
  }
  return {
    ...definition,
    headers: definition.headers ?? {},
    otherAnswers: definition.otherAnswers ?? {},
    errors: definition.errors ?? [],
    audit: definition.audit,
    contentTypes: definition.contentTypes ?? ['application/json'],
    takesLong: definition.takesLong ?? false,
    mayStream: definition.mayStream ?? false,
    hasBriefErrors: definition.hasBriefErrors ?? false,
    hasRpcErrors: definition.hasRpcErrors ?? false,
    tool: definition.tool,
    handler: definition.handler,
  };
}

/** The status that a route answers when all is well. */
export function successStatus(route: Route): number {
  return Number(Object.keys(route.schema.response)[0] ?? 200);
}

/** One area of the product: its routes and the errors behind its tables' constraints. */
export type Module = {
  name: string;
  description: string;
  routes: readonly Route[];
  /** Which error a violated constraint of the module's own tables means to the caller. */
  constraints?: Readonly<Record<string, ErrorDefinition>>;
  /** Scheduled jobs of the module. */
  jobs?: readonly Job[];
  /** Background tasks of the module; `services.queue` sends to them by name. */
  work?: readonly Work[];
};

export function defineModule(module: Module): Module {
  return module;
}
