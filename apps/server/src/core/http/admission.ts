import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';

import { flowOf } from '#core/base/access/flows';
import type { Flow } from '#core/base/concurrency/fair-queue';
import type { AppError } from '#core/base/errors/app-error';
import { clientNetwork } from '#core/base/net/ranges';
import { cachedNameOf } from '#core/http/credentials';
import { factsOf } from '#core/http/facts';
import { matchedRoute } from '#core/http/matched-route';
import { hasBody } from '#core/http/request-checks';
import type { Traffic } from '#core/http/traffic';
import { securitySetting, type SecurityConfig } from '#core/platform/limits/config';
import {
  createLoadShedder,
  maxDelayMs,
  measureLoad,
  type LoadShedder,
  type LoadSource,
  type SheddingLevel,
} from '#core/platform/limits/load-shedder';
import { createRequestQueue, overloaded, unverifiedTenant, type RequestQueue } from '#core/platform/limits/queue';
import type { Services } from '#core/platform/services';

const sampleMs = 500;
const health = '/api/v1/system/health';
const administration = '/api/v1/system/';
/** Routes on which an administrator whose address is refused can correct the address rules. */
const addressRulesPath = '/api/v1/system/security/';

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
  /** The request takes as long as its client likes, so it must not hold a permit. */
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

/** What is left to do before the request is admitted. */
type Admission = {
  /** Its credential is not verified yet: until then it counts for its address. */
  isUnverified: boolean;
  /** To be called once its body has arrived. */
  queueForPermit: ((done: Done) => void) | undefined;
};

/**
 * Decides before parsing whether a request is admitted: address rules, rate limit, load shedding, concurrency. Uses callbacks,
 * because a promise for each request costs measurable time.
 */
export function installAdmissionControl(server: FastifyInstance, options: Options): void {
  const { queue, shedder } = watchLoad(server, options);
  server.decorateRequest('admission', undefined);

  const queueForPermit = (request: FastifyRequest, reply: FastifyReply, flow: Flow, done: Done) => {
    if (!options.traffic.isUnderWay(reply.raw)) proceedWithoutPermit(reply, done);
    else queue.enter(reply.raw, flow, options.isStreamed(request) ? releaseThen(queue, reply.raw, done) : done);
  };
  const postponeQueueing = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const flow = flowOfRequest(request);
    if (queue.isShedding(flow)) return done(overloaded());
    const queueNow = (next: Done) => {
      // The age of the request begins here, so a client that holds back its body does not make it older.
      request.facts = { ...request.facts!, receivedAt: options.services.now().getTime() };
      queueForPermit(request, reply, flow, next);
    };
    request.admission = { isUnverified: false, queueForPermit: queueNow };
    done();
  };
  const shedOrQueue = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    if (bypassesAdmission(request)) return done();
    if (isShed(request, shedder.level(), options)) return done(overloaded());
    const known = knownFlow(request, options);
    // A caller without a verified credential must not fill the queue of a tenant.
    if (known === undefined && hasCredential(request)) {
      request.admission = { isUnverified: true, queueForPermit: undefined };
      return queueForPermit(request, reply, unverifiedFlow(request), done);
    }
    const flow = known ?? unverifiedFlow(request);
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
    const isUnverified = request.admission?.isUnverified === true;
    if (hasBody(request) && !bypassesAdmission(request)) {
      if (isUnverified) queue.leave(reply.raw);
      return postponeQueueing(request, reply, done);
    }
    if (!isUnverified || request.principal === undefined) return done();
    request.admission = undefined;
    // Streams hold no permit.
    if (options.isStreamed(request)) return done();
    if (!options.traffic.isUnderWay(reply.raw)) return proceedWithoutPermit(reply, done);
    queue.move(reply.raw, flowOf(request.principal), done);
  });
  // Uploads have no body parser that would have queued them.
  server.addHook('preValidation', (request, _reply, done) => queueAfterBody(request, done));
}

/** Calls back with a refusal if the rules refuse the address, unless an administrator corrects the rules themselves. */
function checkAddress(request: FastifyRequest, options: Options, done: (refusal?: Error) => void): void {
  const { limits } = options.services;
  const { ip } = request.facts!;
  const { url } = matchedRoute(request);
  const decide = (refusal: AppError | undefined) => {
    if (refusal !== undefined && url?.startsWith(addressRulesPath) === true)
      admitAdministrator(request, { refusal, options }, done);
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

/** The flow of a request whose credential was verified recently. */
function knownFlow(request: FastifyRequest, { services }: Options): Flow | undefined {
  const name = cachedNameOf(request);
  const principal = name === undefined ? undefined : services.principals.peek(name);
  return principal && flowOf(principal);
}

/** The flow of a request after its credential was verified. */
export function flowOfRequest(request: FastifyRequest): Flow {
  return request.principal === undefined ? unverifiedFlow(request) : flowOf(request.principal);
}

function unverifiedFlow({ facts }: FastifyRequest): Flow {
  return { tenant: unverifiedTenant, principal: clientNetwork(facts!.ip) };
}

/** Health and administration are never queued: operators need them during overload. */
function bypassesAdmission(request: FastifyRequest): boolean {
  return matchedRoute(request).url?.startsWith(administration) ?? false;
}

function releaseThen(queue: RequestQueue, request: object, done: Done): Done {
  return (refusal) => {
    queue.leave(request);
    done(refusal);
  };
}

/** Requests without a credential come first, then those above the number that an overloaded process can serve at once. */
function isShed(request: FastifyRequest, level: SheddingLevel, options: Options): boolean {
  if (level === 'none') return false;
  if (!hasCredential(request)) return true;
  return level === 'excess' && options.traffic.inFlight() > options.maxInFlightWhileLagging;
}

function admitAdministrator(
  request: FastifyRequest,
  { refusal, options }: { refusal: AppError; options: Options },
  done: Done,
): void {
  const { limits } = options.services;
  const { ip } = request.facts!;
  if (limits.isRecoveryExhausted(ip)) {
    done(refusal);
    return;
  }
  const decide = (isAdministrator: boolean) => {
    if (!isAdministrator) limits.countRecoveryAttempt(ip);
    done(isAdministrator ? undefined : refusal);
  };
  const known = options.isAdministrator(request);
  if (known instanceof Promise) known.then(decide, done);
  else decide(known);
}

/** Follows the configuration and the load for as long as the server lives. */
function watchLoad(server: FastifyInstance, options: Options): { queue: RequestQueue; shedder: LoadShedder } {
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
  const shedder = createLoadShedder(() => services.now().getTime(), shedderLimits(config));
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
    shedder.configure(shedderLimits(value));
    clearInterval(checker);
    checker = setInterval(() => {
      const delayMs = delays.sum / Math.max(1, delays.count);
      shedder.check({ cpuPercent: load.cpuPercent(), delayMs, busiest });
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
  return { queue, shedder };
}

function queueLimits(config: SecurityConfig) {
  return { enabled: config.queue_enabled, maxSize: config.queue_max_size, timeoutMs: config.queue_timeout_ms };
}

function shedderLimits(config: SecurityConfig) {
  return {
    enabled: config.circuit_breaker_enabled,
    cpuPercent: config.circuit_breaker_cpu_threshold,
    durationMs: config.circuit_breaker_duration_seconds * 1000,
  };
}
