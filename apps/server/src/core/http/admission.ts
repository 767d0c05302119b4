import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { AppError } from '#core/errors/app-error';
import { factsOf } from '#core/http/facts';
import { matchedRoute } from '#core/http/matched-route';
import { hasBody } from '#core/http/request-checks';
import type { Traffic } from '#core/http/traffic';
import { createBreaker, maxDelayMs, measureLoad, type Breaker, type LoadSource } from '#core/limits/breaker';
import { securitySetting, type SecurityConfig } from '#core/limits/config';
import { createRequestQueue, overloaded, type RequestQueue } from '#core/limits/queue';
import type { Services } from '#core/services';

const sampleMs = 500;
const health = '/api/v1/system/health';
const administration = '/api/v1/system/';
/** What an administrator who is locked out puts it right with. */
const wayBack = '/api/v1/system/security/';

type Options = {
  services: Pick<Services, 'limits' | 'runtimeSettings' | 'now'>;
  traffic: Traffic;
  maxInFlight: number;
  /** Requests that are worked on at once while the event loop lags. */
  maxInFlightWhileLagging: number;
  /** Whoever calls is a system administrator, whatever route it is. */
  isAdministrator(request: FastifyRequest): boolean | Promise<boolean>;
  /** The request takes as long as its client likes, so it must not hold a place. */
  isStreamed(request: FastifyRequest): boolean;
  /** Tests put their own here. */
  load?: LoadSource | undefined;
};

type Done = (error?: Error) => void;

/**
 * Decides for each request, before anybody is authenticated, whether it is worked on: by the rules for its address, by how
 * much the address has asked for, by the load of the process, and by how many are being worked on. Callbacks and no promise
 * on the ordinary way.
 */
export function admitRequests(server: FastifyInstance, options: Options): void {
  const { limits } = options.services;
  const { queue, breaker } = watchLoad(server, options);

  const enter = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    // What came over no connection never says that it has ended.
    if (!options.traffic.isUnderWay(reply.raw)) done();
    else if (options.isStreamed(request)) queue.enter(reply.raw, leaving(queue, reply.raw, done));
    else queue.enter(reply.raw, done);
  };
  const admit = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    if (isKept(request)) done();
    else if (isShed(request, breaker.level(), options)) done(overloaded());
    else if (hasBody(request)) done();
    else enter(request, reply, done);
  };

  server.addHook('onRequest', (request, reply, done) => {
    request.facts = factsOf(request);
    const { ip } = request.facts;
    const { url } = matchedRoute(request);
    const judge = (refusal: AppError | undefined) => {
      if (refusal === undefined) admit(request, reply, done);
      else if (url?.startsWith(wayBack) === true) recognise(request, { refusal, options }, done);
      else done(refusal);
    };
    const refusal = url === health ? limits.refuseHealth(ip) : limits.refuse(ip);
    if (refusal instanceof Promise) refusal.then(judge, done);
    else judge(refusal);
  });
  // Only once the body is there: a thousand that send theirs slowly would keep all others out.
  server.addHook('preValidation', (request, reply, done) => {
    if (hasBody(request) && !isKept(request)) enter(request, reply, done);
    else done();
  });
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

/** First those who do not even claim to be somebody, then all that exceeds what a struggling process can do at once. */
function isShed({ headers }: FastifyRequest, level: 0 | 1 | 2, options: Options): boolean {
  if (level === 0) return false;
  if (headers.authorization === undefined && headers['x-api-key'] === undefined) return true;
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
  const maxAtOnce = () => (lags ? options.maxInFlightWhileLagging : options.maxInFlight);
  const queue = createRequestQueue(maxAtOnce, queueLimits(config));
  const breaker = createBreaker(() => services.now().getTime(), breakerLimits(config));
  traffic.onEnd((response) => queue.leave(response));
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
