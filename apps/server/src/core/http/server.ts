import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import type { Actor, Principal, RequestFacts } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { AppError, type ErrorDefinition } from '#core/errors/app-error';
import { NotFound } from '#core/errors/common-errors';
import { watchAbandonment, type Abandonment } from '#core/http/abandonment';
import { admitRequests } from '#core/http/admission';
import { acceptFormsOnly, acceptJsonOnly } from '#core/http/body-parsers';
import { keepDeadline } from '#core/http/deadline';
import { isDownload, isStream, sendFile, type Download, type Stream } from '#core/http/downloads';
import { presentBriefError, presentError, summarizeError, toAppError } from '#core/http/error-body';
import { identify, isAdministrator, type Authenticate } from '#core/http/identify';
import { reportAnswers } from '#core/http/answer-reports';
import { matchedRoute } from '#core/http/matched-route';
import { parserErrorHandler, refuseExtensions } from '#core/http/raw-answers';
import { assertStorableUrl, senderFailure, wellFormedRequest } from '#core/http/request-checks';
import { successStatus, type Module, type Redirect, type Route } from '#core/http/route';
import { securityHeaders } from '#core/http/security-headers';
import { countTraffic, type Traffic } from '#core/http/traffic';
import { acceptAnyContent, uploadOf } from '#core/http/uploads';
import { createRequestValidator } from '#core/http/validation';
import type { LoadSource } from '#core/limits/breaker';
import type { Metric } from '#core/metrics/metric';
import type { Services } from '#core/services';
import { beginSpans, enterSpans } from '#core/http/traces';
import type { RequestSpan } from '#core/tracing/tracing';

/** Where patience ends; times in milliseconds. */
const defaultLimits = {
  handlerTimeoutMs: 15_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** How often Node looks for senders that ran out of time. */
  timeoutCheckMs: 1000,
  /** How long an upload or a download may stand still. */
  idleMs: 30_000,
  /** How long the rest of a refused upload is still read. */
  uploadLingerMs: 2000,
  keepAliveTimeoutMs: 65_000,
  maxConnections: 2000,
  /** Requests that are worked on at once; the others wait. */
  maxInFlight: 1000,
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
  /** Where the circuit breaker learns of the load, other than from the process itself. */
  load?: LoadSource;
  /** Sees every answer before it leaves; tests check it against the route's schema. */
  inspectAnswer?: (route: Route, status: number, payload: string) => void;
};

type RouteOptions = HttpOptions & { abandonment: Abandonment };

type Constraints = Readonly<Record<string, ErrorDefinition>>;

declare module 'fastify' {
  interface FastifyRequest {
    receivedAt: number;
    facts: RequestFacts | undefined;
    principal: Principal | undefined;
    failure: string | undefined;
    span: RequestSpan | undefined;
  }
  interface FastifyContextConfig {
    route?: Route;
    /** Its body, or its answer, takes as long as the client likes. */
    isStreamed?: boolean;
    /** See `Route`. */
    hasBriefErrors?: boolean;
  }
}

/** The HTTP edge: limits, headers, authentication, validation and the standard error body around every route. */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const constraints = Object.assign({}, ...options.modules.map((module) => module.constraints ?? {})) as Constraints;
  const limits = limitsOf(options);
  const log = options.services.log.child({ service: 'http' });
  const traffic = countTraffic();
  const server = openServer(options, limits, traffic, constraints);
  options.services.metrics.add(inFlightMetric(traffic));
  server.decorateRequest('receivedAt', 0);
  server.decorateRequest('facts', undefined);
  server.decorateRequest('principal', undefined);
  server.decorateRequest('failure', undefined);
  server.decorateRequest('span', undefined);
  server.decorateRequest('matched', undefined);
  if (options.services.tracing !== undefined) beginSpans(server, options.services.tracing);
  acceptJsonOnly(server);
  server.addHook('onRequest', (request, reply, done) => {
    request.receivedAt = options.services.now().getTime();
    reply.headers(securityHeaders).header('x-request-id', request.id);
    const failure = wellFormedRequest(request);
    // What two parsers may read in two ways is no beginning for further requests.
    if (failure !== undefined) reply.header('connection', 'close');
    done(failure);
  });
  // As late as can be: once the process stops, a kept connection would be cut under its next request.
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (!options.services.isServing()) reply.header('connection', 'close');
    done(null, payload);
  });
  keepDeadline(server);
  admitRequests(server, {
    services: options.services,
    traffic,
    maxInFlight: limits.maxInFlight,
    maxInFlightWhileLagging: limits.maxInFlightWhileLagging,
    isAdministrator: (request) => isAdministrator(request, options),
    isStreamed: (request) => matchedRoute(request).config.isStreamed === true,
    load: options.load,
  });
  if (options.services.tracing !== undefined) enterSpans(server);
  await allowOrigins(server, options.corsOrigins);
  reportAnswers(server, options.services);
  server.setErrorHandler((error, request, reply) => {
    const failure = senderFailure(error, request) ?? toAppError(error, constraints);
    if (failure.status === 408) reply.header('connection', 'close');
    // Load that was shed on purpose has no cause, and writing it down one by one would only add to the load.
    const isFault = failure.status === 500 || (failure.status > 500 && failure.cause !== undefined);
    if (isFault) log.error({ err: failure.cause ?? failure, requestId: request.id }, 'request failed');
    options.services.metrics.recordRefusal(failure);
    return sendError(failure, request, reply);
  });
  server.setNotFoundHandler((request, reply) => sendError(NotFound(), request, reply));
  addRoutes(server, options);
  return server;
}

function inFlightMetric({ inFlight }: Traffic): Metric {
  const help = 'Requests whose answer has not ended.';
  return { name: 'http_requests_in_flight', help, type: 'gauge', read: () => [{ value: inFlight() }] };
}

function limitsOf({ limits }: HttpOptions): typeof defaultLimits {
  return { ...defaultLimits, ...limits };
}

function openServer(
  options: HttpOptions,
  limits: typeof defaultLimits,
  traffic: Traffic,
  constraints: Constraints,
): FastifyInstance {
  const server = Fastify({
    logger: false,
    genReqId: () => newId(),
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxRequestsPerSocket: 10_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    clientErrorHandler: parserErrorHandler(traffic),
    frameworkErrors: (error, request, reply) => void sendError(toAppError(error, constraints), request, reply),
  });
  server.server.maxConnections = limits.maxConnections;
  closeIdleConnections(server);
  server.server.prependListener('request', (_request, response) => traffic.begin(response));
  refuseExtensions(server.server, traffic);
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

async function allowOrigins(server: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await server.register(cors, {
    origin: [...origins],
    credentials: false,
    maxAge: 600,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    // Otherwise an OPTIONS request that is no preflight gets a text of the plugin's own.
    strictPreflight: false,
    allowedHeaders: [
      'authorization',
      'content-type',
      'x-api-key',
      'x-device-fingerprint',
      'x-tenant-id',
      'accept-language',
      'if-none-match',
      'if-range',
      'range',
    ],
    exposedHeaders: [
      'x-request-id',
      'x-total-capped',
      'x-previous-key-valid-until',
      'retry-after',
      'accept-ranges',
      'content-disposition',
      'content-range',
      'etag',
    ],
  });
}

function addRoutes(server: FastifyInstance, given: HttpOptions): void {
  const options: RouteOptions = { ...given, abandonment: watchAbandonment(server) };
  const routes = options.modules.flatMap((module) => {
    const inModule = { ...options, services: servicesOf(module, options.services) };
    return module.routes.map((route) => ({ route, inModule }));
  });
  const routesByPath = new Map<string, Route[]>();
  for (const { route, inModule } of routes) {
    addInContext(server, route, inModule);
    const url = fastifyPath(route.path);
    routesByPath.set(url, [...(routesByPath.get(url) ?? []), route]);
  }
  for (const [url, ofPath] of routesByPath) refuseOtherMethods(server, url, ofPath);
}

/** The same services, but what the use cases of a module write down is logged under its name. */
function servicesOf({ name }: Module, services: Services): Services {
  return { ...services, log: services.log.child({ service: name }) };
}

// What is no JSON in a context of its own: wherever JSON is taken, a form of somebody else's page must not pass for it.
function addInContext(server: FastifyInstance, route: Route, options: RouteOptions): void {
  const { form, upload } = route.schema;
  if (form === undefined && upload === undefined) {
    addRoute(server, route, options);
    return;
  }
  void server.register((context, _options, done) => {
    if (upload === undefined) acceptFormsOnly(context);
    else acceptAnyContent(context, limitsOf(options).uploadLingerMs);
    addRoute(context, route, options);
    done();
  });
}

function addRoute(server: FastifyInstance, route: Route, options: RouteOptions): void {
  // The types demand it already; this catches what is built around them.
  if ((route.access as unknown) === undefined) throw new Error(`${route.operationId} does not say who may call it`);
  const validate = createRequestValidator(route);
  const status = successStatus(route);
  const answersFile = isDownload(route) || isStream(route);
  const isStreamed = answersFile || route.schema.upload !== undefined;
  server.route({
    // What streams is held to its pace instead, and what takes long to the patience of its client.
    ...(isStreamed || route.takesLong ? {} : { handlerTimeout: limitsOf(options).handlerTimeoutMs }),
    method: route.method,
    url: fastifyPath(route.path),
    config: { route, isStreamed, hasBriefErrors: route.hasBriefErrors },
    onRequest: (request, _reply, done) => {
      if (route.access.kind === 'public') done();
      else identify(request, { rule: route.access, options }, done);
    },
    handler: async (request, reply) => {
      assertStorableUrl(request);
      validate({
        params: request.params,
        query: request.query,
        body: request.body ?? (route.schema.body === undefined ? undefined : null),
        form: request.body ?? null,
      });
      const answer = await route.handler(contextOf(request, reply, { route, options }));
      reply.status(status);
      if (answersFile) {
        const { idleMs } = limitsOf(options);
        return sendFile(request, reply, answer as Download | Stream, { idleMs, log: options.services.log });
      }
      if (answer === undefined || status === 302) {
        if (status === 302) reply.header('location', (answer as Redirect).location);
        options.inspectAnswer?.(route, status, '');
        return reply.send();
      }
      if (typeof answer === 'string' || Buffer.isBuffer(answer)) return reply.send(answer);
      const payload = JSON.stringify(answer);
      options.inspectAnswer?.(route, status, payload);
      return reply.header('content-type', 'application/json; charset=utf-8').send(payload);
    },
  });
}

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, options }: { route: Route; options: RouteOptions },
): unknown {
  const { principal } = request;
  const { services } = options;
  const facts = request.facts!;
  const base = {
    params: request.params,
    query: request.query,
    body: request.body,
    form: request.body,
    upload: route.schema.upload === undefined ? undefined : uploadOf(request, limitsOf(options).idleMs),
    request: { ...facts, headers: request.headers },
    services,
    setHeader: (name: string, value: string) => void reply.header(name, value),
    untilAbandoned: () => options.abandonment(reply),
  };
  if (principal === undefined) return base;
  const actor: Actor = { ...principal, request: facts };
  return { ...base, actor, db: services.database.tenant(principal.tenantId) };
}

function refuseOtherMethods(server: FastifyInstance, url: string, routes: readonly Route[]): void {
  const allowed = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = allowed.join(', ');
  server.route({
    method: server.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    config: { hasBriefErrors: routes.some((route) => route.hasBriefErrors) },
    exposeHeadRoute: false,
    onRequest: (_request, reply) => {
      reply.header('allow', allow);
      throw new AppError('METHOD_NOT_ALLOWED', `This path answers ${allow}.`);
    },
    handler: () => undefined,
  });
}

function sendError(failure: AppError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.failure = summarizeError(failure);
  const isBrief = matchedRoute(request).config.hasBriefErrors === true;
  reply.status(failure.status).headers(securityHeaders).header('x-request-id', request.id);
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer');
  if (failure.status === 429 || failure.status === 503)
    reply.header('retry-after', String(failure.retryAfterSeconds ?? 1));
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(isBrief ? presentBriefError(failure) : presentError(failure, request.id)));
}

/** `{id}` as the specification writes it, `:id` as the router wants it. */
function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
