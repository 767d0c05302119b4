import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import type { Principal, RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { AppError, type ErrorDefinition } from '#core/base/errors/app-error';
import { NotFound } from '#core/base/errors/common-errors';
import type { RequestSpan } from '#core/base/tracing/tracing';
import { watchAbandonment } from '#core/http/abandonment';
import { installAdmissionControl } from '#core/http/admission';
import { reportAnswers, type CalledOperation } from '#core/http/answer-reports';
import { acceptFormsOnly, acceptJsonOnly } from '#core/http/body-parsers';
import { createCallers, type CallerOf } from '#core/http/callers';
import { createConnectionBounds, type ConnectionBounds } from '#core/http/connection-bounds';
import { keepDeadline } from '#core/http/deadline';
import { isDownload, isStream, sendFile, type Download, type Stream } from '#core/http/downloads';
import { presentFailure, retryAfterOf, summarizeError, toAppError } from '#core/http/error-body';
import { errorFormsOf, type ErrorForm } from '#core/http/error-forms';
import { takesIdempotencyKey } from '#core/http/idempotency/idempotency.rules';
import { createKeyedAnswers, type AnswerKeyed } from '#core/http/idempotency/keyed-answers';
import { identify, identifyAgain, isAdministrator, isStillIdentified, type Authenticate } from '#core/http/identify';
import { JsonStream, sendJsonStream } from '#core/http/json-streams';
import { matchedRoute } from '#core/http/matched-route';
import { createNodeServer, refusedConnections } from '#core/http/node-server';
import { createOperation, type Operation } from '#core/http/operation';
import { allowOrigins } from '#core/http/origins';
import { parserErrorHandler } from '#core/http/raw-answers';
import { assertStorableUrl, senderFailure, wellFormedRequest } from '#core/http/request-checks';
import type { Module, Redirect, Route } from '#core/http/route';
import { securityHeaders } from '#core/http/security-headers';
import { createToolCaller } from '#core/http/tool-calls';
import { beginSpans, enterSpans } from '#core/http/traces';
import { countTraffic, type Traffic } from '#core/http/traffic';
import { acceptAnyContent } from '#core/http/uploads';
import type { LoadSource } from '#core/platform/limits/load-shedder';
import type { Metric } from '#core/platform/metrics/metric';
import type { Services } from '#core/platform/services';

/** Timeouts and limits of the server; times in milliseconds. */
const defaultLimits = {
  handlerTimeoutMs: 15_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** Interval at which Node checks the timeouts of senders. */
  timeoutCheckMs: 1000,
  /** Time without a byte on a connection while a body or an answer is transferred. */
  idleMs: 30_000,
  /** Time in which an upload may be slower than 16 KiB/s. */
  uploadPaceMs: 10_000,
  /** Time in which the rest of a refused upload is read. */
  uploadLingerMs: 2000,
  keepAliveTimeoutMs: 65_000,
  maxConnections: 2000,
  maxConnectionsPerAddress: Infinity,
  /** Requests whose answer has not ended; the others wait. */
  maxInFlight: 1000,
  /** Requests among them that began moments ago. More gain no throughput, and each delays those of other tenants. */
  maxActive: 40,
  /** The same while the event loop lags. */
  maxInFlightWhileLagging: 50,
};

const idleCheckMs = 50;

export type HttpOptions = {
  modules: readonly Module[];
  services: Services;
  authenticate: Authenticate;
  trustedProxies: readonly string[];
  corsOrigins: readonly string[];
  bodyLimitBytes: number;
  limits?: Partial<typeof defaultLimits>;
  /** Aborted when uploads that are still under way are to end, because the process will. */
  ending?: AbortSignal;
  /** Replaces the measurement of the process for the load shedder. */
  load?: LoadSource;
  /** Sees every answer before it leaves; tests check it against the route's schema. */
  inspectAnswer?: (route: Route, status: number, payload: string) => void;
};

/** Converts any thrown value to the error the caller may see; logs internal faults. */
type ToFailure = (error: unknown, requestId: string) => AppError;

type RouteOptions = HttpOptions & { callerOf: CallerOf; answerKeyed: AnswerKeyed };

type Constraints = Readonly<Record<string, ErrorDefinition>>;

declare module 'fastify' {
  interface FastifyRequest {
    receivedAt: number;
    facts: RequestFacts | undefined;
    principal: Principal | undefined;
    failure: string | undefined;
    /** The operation that was called by way of the route, if one was. */
    called: CalledOperation | undefined;
    span: RequestSpan | undefined;
  }
  interface FastifyContextConfig {
    route?: Route;
    /** Its body, or its answer, takes as long as the client likes. */
    isStreamed?: boolean;
    /** See `Route`. */
    errorForm?: ErrorForm;
  }
}

/** The HTTP edge: limits, headers, authentication, validation and the standard error body around every route. */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const constraints = Object.assign({}, ...options.modules.map((module) => module.constraints ?? {})) as Constraints;
  const limits = limitsOf(options);
  const log = options.services.log.child({ service: 'http' });
  const traffic = countTraffic();
  const bounds = boundsOf(options, limits);
  const server = openServer(options, { limits, traffic, bounds, constraints });
  options.services.metrics.add(inFlightMetric(traffic), refusedConnections(server.server, bounds));
  decorateRequests(server);
  if (options.services.tracing !== undefined) beginSpans(server, options.services.tracing);
  acceptJsonOnly(server);
  server.addHook('onRequest', (request, reply, done) => {
    request.receivedAt = options.services.now().getTime();
    reply.headers(securityHeaders).header('x-request-id', request.id);
    const failure = wellFormedRequest(request);
    // After a request that two parsers may read differently, the connection cannot be trusted for further requests.
    if (failure !== undefined) reply.header('connection', 'close');
    done(failure);
  });
  // As late as can be: once the process stops, a kept connection would be cut under its next request.
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (!options.services.isServing()) reply.header('connection', 'close');
    done(null, payload);
  });
  keepDeadline(server, limits.handlerTimeoutMs);
  installAdmissionControl(server, {
    services: options.services,
    traffic,
    maxInFlight: limits.maxInFlight,
    maxActive: limits.maxActive,
    maxInFlightWhileLagging: limits.maxInFlightWhileLagging,
    isAdministrator: (request) => isAdministrator(request, options),
    isStreamed: (request) => isAlwaysStreamed(request),
    load: options.load,
  });
  if (options.services.tracing !== undefined) enterSpans(server);
  await allowOrigins(server, options.corsOrigins);
  reportAnswers(server, options.services);
  const toFailure: ToFailure = (error, requestId) => {
    const failure = toAppError(error, constraints);
    // Load that was shed on purpose has no cause, and writing it down one by one would only add to the load.
    const isFault = failure.status === 500 || (failure.status > 500 && failure.cause !== undefined);
    if (isFault) log.error({ err: failure.cause ?? failure, requestId }, 'request failed');
    options.services.metrics.recordRefusal(failure);
    return failure;
  };
  server.setErrorHandler((error, request, reply) => {
    const failure = toFailure(senderFailure(error, request) ?? error, request.id);
    if (failure.status === 408) reply.header('connection', 'close');
    return sendError(failure, request, reply);
  });
  server.setNotFoundHandler((request, reply) => sendError(NotFound(), request, reply));
  addRoutes(server, { ...options, constraints, toFailure });
  return server;
}

/** A route that may stream is handled like all others until it streams. */
function isAlwaysStreamed(request: FastifyRequest): boolean {
  const { isStreamed, route } = matchedRoute(request).config;
  return isStreamed === true && route?.mayStream !== true;
}

/** All requests have one shape from the beginning, whichever hooks they pass. */
function decorateRequests(server: FastifyInstance): void {
  server.decorateRequest('receivedAt', 0);
  server.decorateRequest('facts', undefined);
  server.decorateRequest('principal', undefined);
  server.decorateRequest('principalRevision', 0);
  server.decorateRequest('failure', undefined);
  server.decorateRequest('called', undefined);
  server.decorateRequest('span', undefined);
  server.decorateRequest('matched', undefined);
}

function inFlightMetric({ inFlight }: Traffic): Metric {
  const help = 'Requests whose answer has not ended.';
  return { name: 'http_requests_in_flight', help, type: 'gauge', read: () => [{ value: inFlight() }] };
}

function limitsOf({ limits }: HttpOptions): typeof defaultLimits {
  return { ...defaultLimits, ...limits };
}

function boundsOf({ services, trustedProxies }: HttpOptions, limits: typeof defaultLimits): ConnectionBounds {
  const { maxConnectionsPerAddress: maxPerAddress } = limits;
  const now = () => services.now().getTime();
  return createConnectionBounds({ maxPerAddress, trustedProxies, log: services.log.child({ service: 'http' }), now });
}

type Opening = {
  limits: typeof defaultLimits;
  traffic: Traffic;
  bounds: ConnectionBounds;
  constraints: Constraints;
};

function openServer(options: HttpOptions, { limits, traffic, bounds, constraints }: Opening): FastifyInstance {
  const errorFormOf = errorFormsOf(options.modules);
  const server = Fastify({
    logger: false,
    genReqId: () => newId(),
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    bodyLimit: options.bodyLimitBytes,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    serverFactory: (serve) => createNodeServer(serve, { limits, traffic, bounds, errorFormOf }),
    clientErrorHandler: parserErrorHandler(traffic, errorFormOf),
    // Such a request has no route: the router gave up on its path.
    frameworkErrors: (error, request, reply) =>
      void sendError(toAppError(error, constraints), request, reply, errorFormOf(request.url)),
  });
  closeIdleConnections(server);
  awaitConnections(server);
  return server;
}

// Node closes idle connections once, as the stop begins; those busy at that moment would hold it up for the keep-alive time.
function closeIdleConnections(server: FastifyInstance): void {
  server.addHook('preClose', (done) => {
    const timer = setInterval(() => server.server.closeIdleConnections(), idleCheckMs);
    server.server.once('close', () => clearInterval(timer));
    done();
  });
}

// Fastify leaves a server of a factory alone unless it listens itself: in a worker, which is handed its connections, it does not.
function awaitConnections(server: FastifyInstance): void {
  server.addHook('onClose', (_instance, done) => {
    if (server.server.listening) done();
    else server.server.close(() => done());
  });
}

type AddingOptions = HttpOptions & { constraints: Constraints; toFailure: ToFailure };

function addRoutes(server: FastifyInstance, options: AddingOptions): void {
  const { constraints, toFailure, inspectAnswer } = options;
  const operations = new Map<Route, Operation>();
  for (const module of options.modules) {
    const services = servicesOf(module, options.services);
    for (const route of module.routes) operations.set(route, createOperation(route, services));
  }
  const { handlerTimeoutMs: timeoutMs, idleMs, uploadPaceMs } = limitsOf(options);
  const callTool = createToolCaller({ operations, timeoutMs, toFailure, inspectAnswer });
  const { ending = new AbortController().signal } = options;
  const abandonment = watchAbandonment(server);
  const callerOf = createCallers({ identification: options, callTool, idleMs, uploadPaceMs, ending, abandonment });
  const answerKeyed = createKeyedAnswers({ services: options.services, constraints, inspectAnswer });
  const routeOptions: RouteOptions = { ...options, callerOf, answerKeyed };
  const routesByPath = new Map<string, Route[]>();
  for (const operation of operations.values()) {
    addInContext(server, operation, routeOptions);
    const url = fastifyPath(operation.route.path);
    routesByPath.set(url, [...(routesByPath.get(url) ?? []), operation.route]);
  }
  for (const [url, ofPath] of routesByPath) refuseOtherMethods(server, url, ofPath);
}

/** The same services, but what the use cases of a module write down is logged under its name. */
function servicesOf({ name }: Module, services: Services): Services {
  return { ...services, log: services.log.child({ service: name }) };
}

// Forms and uploads get a context of their own: a form of a foreign web page must never be accepted where JSON is expected.
function addInContext(server: FastifyInstance, operation: Operation, options: RouteOptions): void {
  const { form, upload } = operation.route.schema;
  if (form === undefined && upload === undefined) {
    addRoute(server, operation, options);
    return;
  }
  void server.register((context, _options, done) => {
    if (upload === undefined) acceptFormsOnly(context);
    else acceptAnyContent(context, limitsOf(options).uploadLingerMs);
    addRoute(context, operation, options);
    done();
  });
}

function addRoute(server: FastifyInstance, operation: Operation, options: RouteOptions): void {
  const { route } = operation;
  const isStreamed = isDownload(route) || isStream(route) || route.mayStream || route.schema.upload !== undefined;
  const takesKey = takesIdempotencyKey(route);
  server.route({
    method: route.method,
    url: fastifyPath(route.path),
    config: { route, isStreamed, errorForm: route },
    onRequest: (request, _reply, done) => {
      if (route.access.kind === 'public') done();
      else identify(request, { rule: route.access, options }, done);
    },
    handler: async (request, reply) => {
      if (!isStillIdentified(request, reply.elapsedTime, options))
        await identifyAgain(request, { rule: route.access, options });
      assertStorableUrl(request);
      reply.status(operation.status);
      const { params, query, body } = request;
      const input = { params, query, body, form: body };
      const caller = options.callerOf(request, reply, route);
      const header = takesKey ? request.headers['idempotency-key'] : undefined;
      if (header !== undefined)
        return options.answerKeyed(operation, { request, reply, input, caller, header: String(header) });
      const answer = await operation.run(input, caller);
      return sendAnswer(request, reply, answer, operation, options);
    },
  });
}

function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: unknown,
  { route, status }: Operation,
  options: RouteOptions,
): FastifyReply | Promise<FastifyReply> {
  const { inspectAnswer, services } = options;
  const { log } = services;
  const inspect = inspectAnswer && ((text: string) => inspectAnswer(route, reply.statusCode, text));
  if (isDownload(route) || isStream(route))
    return sendFile(request, reply, answer as Download | Stream, { log, idleMs: limitsOf(options).idleMs });
  if (answer instanceof JsonStream) return sendJsonStream(request, reply, answer, { log, inspect });
  if (answer === undefined || status === 302) {
    if (status === 302) reply.header('location', (answer as Redirect).location);
    inspect?.('');
    return reply.send();
  }
  if (typeof answer === 'string' || Buffer.isBuffer(answer)) return reply.send(answer);
  const payload = JSON.stringify(answer);
  inspect?.(payload);
  return reply.header('content-type', 'application/json; charset=utf-8').send(payload);
}

function refuseOtherMethods(server: FastifyInstance, url: string, routes: readonly Route[]): void {
  const allowed = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = allowed.join(', ');
  server.route({
    method: server.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    config: { errorForm: routes[0]! },
    exposeHeadRoute: false,
    onRequest: (_request, reply) => {
      reply.header('allow', allow);
      throw new AppError('METHOD_NOT_ALLOWED', `This path answers ${allow}.`);
    },
    handler: () => undefined,
  });
}

function sendError(
  failure: AppError,
  request: FastifyRequest,
  reply: FastifyReply,
  form: ErrorForm | undefined = matchedRoute(request).config.errorForm,
): FastifyReply {
  request.failure = summarizeError(failure);
  reply.status(failure.status).headers(securityHeaders).header('x-request-id', request.id);
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer');
  const retryAfter = retryAfterOf(failure);
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(presentFailure(failure, { requestId: request.id, form, asked: request.body })));
}

/** `{id}` as the specification writes it, `:id` as the router wants it. */
function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
