import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import type { Actor, Principal, RequestFacts } from '#core/access/principal';
import { refusal } from '#core/access/access';
import { newId } from '#core/crypto/ids';
import { AppError, type ErrorDefinition } from '#core/errors/app-error';
import { NotFound } from '#core/errors/common-errors';
import { presentError, toAppError } from '#core/http/error-body';
import { isStorableText, parseJsonBody } from '#core/http/json';
import { overloadGate } from '#core/http/overload';
import { answerParserError, refuseExpectations } from '#core/http/raw-answers';
import { successStatus, type Module, type Route } from '#core/http/route';
import { securityHeaders } from '#core/http/security-headers';
import { createRequestValidator } from '#core/http/validation';
import type { Services } from '#core/services';

export type HttpOptions = {
  modules: readonly Module[];
  services: Services;
  /** Turns the presented credentials into a principal; undefined when there are none. */
  authenticate: (
    request: { authorization: string | undefined; tenantId: string | undefined },
    facts: RequestFacts,
  ) => Promise<Principal | undefined> | Principal | undefined;
  trustedProxies: readonly string[];
  corsOrigins: readonly string[];
  bodyLimitBytes: number;
  /** Sees every answer before it leaves; tests check it against the route's schema. */
  inspectAnswer?: (route: Route, status: number, payload: string) => void;
};

declare module 'fastify' {
  interface FastifyRequest {
    receivedAt: number;
    principal: Principal | undefined;
  }
  interface FastifyContextConfig {
    route?: Route;
  }
}

const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The HTTP edge: limits, headers, authentication, validation and the standard error body around every route. */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const constraints = Object.assign({}, ...options.modules.map((module) => module.constraints ?? {})) as Record<
    string,
    ErrorDefinition
  >;
  const server = Fastify({
    logger: false,
    genReqId: () => newId(),
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    bodyLimit: options.bodyLimitBytes,
    handlerTimeout: 15_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    maxRequestsPerSocket: 10_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    clientErrorHandler: answerParserError,
    frameworkErrors: (error, request, reply) => sendError(toAppError(error, constraints), request, reply),
  });
  server.server.maxConnections = 2000;
  refuseExpectations(server.server);
  server.decorateRequest('receivedAt', 0);
  server.decorateRequest('principal', undefined);

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });

  server.addHook('onRequest', (request, reply, done) => {
    request.receivedAt = Date.now();
    reply.headers(securityHeaders).header('x-request-id', request.id);
    done(wellFormedRequest(request));
  });
  overloadGate(server);
  if (options.corsOrigins.length > 0) {
    await server.register(cors, {
      origin: [...options.corsOrigins],
      credentials: false,
      maxAge: 600,
      methods: [...allMethods],
      allowedHeaders: ['authorization', 'content-type', 'x-api-key', 'x-tenant-id', 'accept-language'],
      exposedHeaders: ['x-request-id', 'x-total-capped', 'retry-after'],
    });
  }
  logAnswers(server, options.services);
  server.setErrorHandler((error, request, reply) => {
    const failure = toAppError(error, constraints);
    if (failure.status >= 500)
      options.services.log.error({ err: failure.cause ?? failure, requestId: request.id }, 'request failed');
    return sendError(failure, request, reply);
  });
  server.setNotFoundHandler((request, reply) => sendError(NotFound(), request, reply));
  addRoutes(server, options);
  return server;
}

function addRoutes(server: FastifyInstance, options: HttpOptions): void {
  const routes = options.modules.flatMap((module) => module.routes);
  const methodsByPath = new Map<string, string[]>();
  for (const route of routes) {
    addRoute(server, route, options);
    const url = fastifyPath(route.path);
    methodsByPath.set(url, [...(methodsByPath.get(url) ?? []), route.method]);
  }
  for (const [url, methods] of methodsByPath) refuseOtherMethods(server, url, methods);
}

function addRoute(server: FastifyInstance, route: Route, options: HttpOptions): void {
  // The types demand it already; this catches what is built around them.
  if ((route.access as unknown) === undefined) throw new Error(`${route.operationId} does not say who may call it`);
  const validate = createRequestValidator(route);
  const status = successStatus(route);
  server.route({
    method: route.method,
    url: fastifyPath(route.path),
    config: { route },
    onRequest: async (request) => {
      const facts = factsOf(request);
      if (route.access.kind !== 'public') {
        const { authorization, 'x-tenant-id': tenantId } = request.headers;
        const known = options.authenticate({ authorization, tenantId: oneValue(tenantId) }, facts);
        request.principal = await (route.access.kind === 'optional'
          ? Promise.resolve(known).catch(ignoreRefusal)
          : known);
      }
      const refused = refusal(route.access, request.principal);
      if (refused !== undefined) throw refused;
    },
    handler: async (request, reply) => {
      assertStorableUrl(request);
      validate({
        params: request.params,
        query: request.query,
        body: request.body ?? (route.schema.body === undefined ? undefined : null),
      });
      const answer = await route.handler(contextOf(request, reply, options.services));
      reply.status(status);
      if (answer === undefined) return reply.send();
      if (typeof answer === 'string' || Buffer.isBuffer(answer)) return reply.send(answer);
      const payload = JSON.stringify(answer);
      options.inspectAnswer?.(route, status, payload);
      return reply.header('content-type', 'application/json; charset=utf-8').send(payload);
    },
  });
}

function contextOf(request: FastifyRequest, reply: FastifyReply, services: Services): unknown {
  const { principal } = request;
  const facts = factsOf(request);
  const base = {
    params: request.params,
    query: request.query,
    body: request.body,
    request: { ...facts, headers: request.headers },
    services,
    setHeader: (name: string, value: string) => void reply.header(name, value),
  };
  if (principal === undefined) return base;
  const actor: Actor = { ...principal, request: facts };
  return { ...base, actor, db: services.database.tenant(principal.tenantId) };
}

function factsOf(request: FastifyRequest): RequestFacts {
  return {
    id: request.id,
    ip: request.ip.startsWith('::ffff:') ? request.ip.slice(7) : request.ip,
    userAgent: request.headers['user-agent']?.slice(0, 256) ?? null,
    receivedAt: request.receivedAt,
  };
}

function wellFormedRequest(request: FastifyRequest): Error | undefined {
  const { headers, httpVersion, rawHeaders } = request.raw;
  if (headers.host === undefined && httpVersion === '1.1')
    return new AppError('BAD_REQUEST', 'The Host header is missing.');
  if (request.raw.url !== undefined && request.raw.url.length > 8192)
    return new AppError('URI_TOO_LONG', 'The URL is too long.');
  // Node keeps the first of two silently; which one a proxy in front looked at is anyone's guess.
  let authorizations = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.length === 13 && rawHeaders[at]!.toLowerCase() === 'authorization') authorizations += 1;
  }
  return authorizations > 1 ? new AppError('BAD_REQUEST', 'The Authorization header is there twice.') : undefined;
}

function assertStorableUrl(request: FastifyRequest): void {
  if (!request.url.includes('%')) return;
  const values = [...Object.values(request.params as object), ...Object.values(request.query as object)].flat();
  if (values.every((value) => typeof value !== 'string' || isStorableText(value))) return;
  throw new AppError('VALIDATION_ERROR', 'The URL has a NUL character or broken Unicode in it.');
}

function refuseOtherMethods(server: FastifyInstance, url: string, methods: readonly string[]): void {
  const others = allMethods.filter((method) => !methods.includes(method));
  if (others.length === 0) return;
  server.route({
    method: others,
    url,
    onRequest: (_request, reply) => {
      reply.header('allow', methods.join(', '));
      throw new AppError('METHOD_NOT_ALLOWED', `This path answers ${methods.join(', ')}.`);
    },
    handler: () => undefined,
  });
}

function sendError(failure: AppError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.status(failure.status).headers(securityHeaders).header('x-request-id', request.id);
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer');
  if (failure.status === 429 || failure.status === 503)
    reply.header('retry-after', String(failure.retryAfterSeconds ?? 1));
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(presentError(failure, request.id)));
}

function logAnswers(server: FastifyInstance, services: Services): void {
  server.addHook('onResponse', (request, reply, done) => {
    services.log.info({
      requestId: request.id,
      method: request.method,
      // The pattern, not the URL: identifiers and search words are not for the log.
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ip: request.ip,
      tenantId: request.principal?.tenantId ?? null,
      userId: request.principal?.userId ?? null,
    });
    done();
  });
}

function ignoreRefusal(error: unknown): undefined {
  if (error instanceof AppError && error.status < 500) return undefined;
  throw error;
}

function oneValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** `{id}` as the specification writes it, `:id` as the router wants it. */
function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
