import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';

import { flowOf } from '#core/base/access/flows';
import type { Flow } from '#core/base/concurrency/fair-queue';
import type { AppError } from '#core/base/errors/app-error';
import { customerOf } from '#core/base/net/ranges';
import { cachedNameOf } from '#core/http/credentials';
import { factsOf } from '#core/http/facts';
import { matchedRoute } from '#core/http/matched-route';
import { hasBody } from '#core/http/request-checks';
import type { Traffic } from '#core/http/traffic';
import { createBreaker, maxDelayMs, measureLoad, type Breaker, type LoadSource } from '#core/platform/limits/breaker';
import { securitySetting, type SecurityConfig } from '#core/platform/limits/config';
import { createRequestQueue, overloaded, unknownTenant, type RequestQueue } from '#core/platform/limits/queue';
import type { Services } from '#core/platform/services';

const sampleMs = 500;
const health = '/api/v1/system/health';
const administration = '/api/v1/system/';
/** What an administrator who is locked out puts it right with. */
const wayBack = '/api/v1/system/security/';

type Options = {
  services: Pick<Services, 'limits' | 'runtimeSettings' | 'now' | 'principals'>;
  traffic: Traffic;
  maxInFlight: number;
  /** Requests among them that began moments ago. */
  maxActive: number;
  /** Requests that are worked on at once while the event loop lags. */
  maxInFlightWhileLagging: number;
  /** Whether the caller is a system administrator, on any route. */
  isAdministrator(request: FastifyRequest): boolean | Promise<boolean>;
  /** The request takes as long as its client likes, so it must not hold a place. */
  isStreamed(request: FastifyRequest): boolean;
  /** Tests put their own here. */
  load?: LoadSource | undefined;
};

type Done = (error?: Error) => void;

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | undefined;
  }
}

/** What the request still has to do before it is worked on. */
type Admission = {
  /** Its credential is to be verified: until then it counts for its address. */
  isUnknown: boolean;
  /** To be called once its body has arrived. */
  queueForPermit: ((done: Done) => void) | undefined;
};

/**
 * Decides for each request, before anything of it is parsed, whether it is worked on: by the rules for its address, by how
 * much the address has asked for, by the load of the process, and by how many are being worked on. Callbacks and no promise
 * on the ordinary way.
 */
export function installAdmissionControl(server: FastifyInstance, options: Options): void {
  const { queue, breaker } = watchLoad(server, options);
  server.decorateRequest('admission', undefined);

  const queueForPermit = (request: FastifyRequest, reply: FastifyReply, flow: Flow, done: Done) => {
    if (!options.traffic.isUnderWay(reply.raw)) proceedWithoutPermit(reply, done);
    else queue.enter(reply.raw, flow, options.isStreamed(request) ? leaving(queue, reply.raw, done) : done);
  };
  const postponeQueueing = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const flow = flowOfRequest(request);
    if (queue.isShedding(flow)) return done(overloaded());
    const queueNow = (next: Done) => {
      // A client that holds back the end of its body must not make the request older than it is.
      request.facts = { ...request.facts!, receivedAt: options.services.now().getTime() };
      queueForPermit(request, reply, flow, next);
    };
    request.admission = { isUnknown: false, queueForPermit: queueNow };
    done();
  };
  const shedOrQueue = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    if (isKept(request)) return done();
    if (isShed(request, breaker.level(), options)) return done(overloaded());
    const known = knownFlow(request, options);
    // A stranger that only claims to be of a tenant must not fill the queue of that tenant.
    if (known === undefined && hasCredential(request)) {
      request.admission = { isUnknown: true, queueForPermit: undefined };
      return queueForPermit(request, reply, unknownFlow(request), done);
    }
    const flow = known ?? unknownFlow(request);
    if (!hasBody(request)) return queueForPermit(request, reply, flow, done);
    done(queue.isShedding(flow) ? overloaded() : undefined);
  };

  server.addHook('onRequest', (request, reply, done) => {
    request.facts = factsOf(request);
    checkAddress(request, options, (refusal) => {
      if (refusal === undefined) shedOrQueue(request, reply, done);
      else done(refusal);
    });
  });
  // The credential is verified by now. No permit is held while a body arrives: slow senders would keep all others out.
  server.addHook('preParsing', (request, reply, _payload, done) => {
    const isUnknown = request.admission?.isUnknown === true;
    if (hasBody(request) && !isKept(request)) {
      if (isUnknown) queue.leave(reply.raw);
      return postponeQueueing(request, reply, done);
    }
    if (!isUnknown || request.principal === undefined) return done();
    request.admission = undefined;
    // Streams hold no permit.
    if (options.isStreamed(request)) return done();
    if (!options.traffic.isUnderWay(reply.raw)) return proceedWithoutPermit(reply, done);
    queue.move(reply.raw, flowOf(request.principal), done);
  });
  // Of what no parser has admitted, which are uploads.
  server.addHook('preValidation', (request, _reply, done) => queueAfterBody(request, done));
}

/** Calls back with a refusal if the rules refuse the address, unless an administrator corrects the rules themselves. */
function checkAddress(request: FastifyRequest, options: Options, done: (refusal?: Error) => void): void {
  const { limits } = options.services;
  const { ip } = request.facts!;
  const { url } = matchedRoute(request);
  const decide = (refusal: AppError | undefined) => {
    if (refusal !== undefined && url?.startsWith(wayBack) === true) recognise(request, { refusal, options }, done);
    else done(refusal);
  };
  const refusal = url === health ? limits.refuseHealth(ip) : limits.refuse(ip);
  if (refusal instanceof Promise) refusal.then(decide, done);
  else decide(refusal);
}

/** To be called once the body has arrived, before it is parsed: calls back when the request may be worked on. */
export function queueAfterBody(request: FastifyRequest, done: Done): void {
  const queueForPermit = request.admission?.queueForPermit;
  if (queueForPermit === undefined) return done();
  request.admission = undefined;
  queueForPermit(done);
}

/**
 * Without a permit, because its end would not be reported: a request whose client has disconnected is refused, and one that was
 * injected without a connection proceeds.
 */
function proceedWithoutPermit({ raw }: FastifyReply, done: Done): void {
  done(raw.destroyed ? overloaded() : undefined);
}

function hasCredential({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined || headers['x-api-key'] !== undefined;
}

/** Who the request counts for where its credential was verified lately. */
function knownFlow(request: FastifyRequest, { services }: Options): Flow | undefined {
  const name = cachedNameOf(request);
  const principal = name === undefined ? undefined : services.principals.peek(name);
  return principal && flowOf(principal);
}

/** Who a request counts for once its credential is verified. */
export function flowOfRequest(request: FastifyRequest): Flow {
  return request.principal === undefined ? unknownFlow(request) : flowOf(request.principal);
}

function unknownFlow({ facts }: FastifyRequest): Flow {
  return { tenant: unknownTenant, principal: customerOf(facts!.ip) };
}

/** Health tells the load balancer and administration puts things right: neither ever waits. */
function isKept(request: FastifyRequest): boolean {
  return matchedRoute(request).url?.startsWith(administration) ?? false;
}

function leaving(queue: RequestQueue, request: object, done: Done): Done {
  return (refusal) => {
    queue.leave(request);
    done(refusal);
  };
}

/** First those without any credential, then all that exceeds what a struggling process can do at once. */
function isShed(request: FastifyRequest, level: 0 | 1 | 2, options: Options): boolean {
  if (level === 0) return false;
  if (!hasCredential(request)) return true;
  return level === 2 && options.traffic.inFlight() > options.maxInFlightWhileLagging;
}

function recognise(
  request: FastifyRequest,
  { refusal, options }: { refusal: AppError; options: Options },
  done: Done,
): void {
  const { limits } = options.services;
  const { ip } = request.facts!;
  if (limits.isHopeless(ip)) {
    done(refusal);
    return;
  }
  const judge = (isAdministrator: boolean) => {
    if (!isAdministrator) limits.noteHopeless(ip);
    done(isAdministrator ? undefined : refusal);
  };
  const known = options.isAdministrator(request);
  if (known instanceof Promise) known.then(judge, done);
  else judge(known);
}

/** Follows the configuration and the load for as long as the server lives. */
function watchLoad(server: FastifyInstance, options: Options): { queue: RequestQueue; breaker: Breaker } {
  const { services, traffic } = options;
  const config = services.runtimeSettings.current(securitySetting);
  const load = options.load ?? measureLoad();
  let isOpen = true;
  let lags = false;
  let busiest = 0;
  let delays = { sum: 0, count: 0 };
  const whileLagging = Math.min(options.maxInFlight, options.maxInFlightWhileLagging);
  const maxInFlight = () => (lags ? whileLagging : options.maxInFlight);
  const concurrency = { maxInFlight, maxActive: options.maxActive, isBusy: load.isBusy };
  const queue = createRequestQueue(concurrency, queueLimits(config));
  const breaker = createBreaker(() => services.now().getTime(), breakerLimits(config));
  traffic.onEnd((response) => queue.leave(response));
  // A list that turns out to be sent while it is read takes as long as its client likes from this point.
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (payload instanceof Readable) queue.leave(reply.raw);
    done(null, payload);
  });
  const sampler = setInterval(() => {
    const delayMs = load.delayMs();
    lags = delayMs > maxDelayMs;
    delays = { sum: delays.sum + delayMs, count: delays.count + 1 };
    busiest = Math.max(busiest, traffic.inFlight());
    queue.admit();
  }, sampleMs).unref();
  let checker: NodeJS.Timeout | undefined;
  services.runtimeSettings.watch(securitySetting, (value) => {
    if (!isOpen) return;
    queue.configure(queueLimits(value));
    breaker.configure(breakerLimits(value));
    clearInterval(checker);
    checker = setInterval(() => {
      const delayMs = delays.sum / Math.max(1, delays.count);
      breaker.check({ cpuPercent: load.cpuPercent(), delayMs, busiest });
      busiest = traffic.inFlight();
      delays = { sum: 0, count: 0 };
    }, value.circuit_breaker_check_interval_seconds * 1000).unref();
  });
  server.addHook('onClose', (_instance, done) => {
    isOpen = false;
    clearInterval(sampler);
    clearInterval(checker);
    load.close();
    done();
  });
  return { queue, breaker };
}

function queueLimits(config: SecurityConfig) {
  return { enabled: config.queue_enabled, maxSize: config.queue_max_size, timeoutMs: config.queue_timeout_ms };
}

function breakerLimits(config: SecurityConfig) {
  return {
    enabled: config.circuit_breaker_enabled,
    cpuPercent: config.circuit_breaker_cpu_threshold,
    durationMs: config.circuit_breaker_duration_seconds * 1000,
  };
}
