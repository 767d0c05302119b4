import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';

import { ServiceUnavailable } from '#core/errors/common-errors';
import type { Traffic } from '#core/http/traffic';

const maxDelayMs = 250;
const sampleMs = 500;

/**
 * Refuses work with 503 while the event loop lags or too many requests are under way, so that what was
 * accepted is still answered in time. Health keeps answering: it is what tells the load balancer.
 */
export function overloadGate(
  server: FastifyInstance,
  traffic: Traffic,
  limits: { maxInFlight: number; maxInFlightWhileLagging: number },
): void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let lagging = false;
  const timer = setInterval(() => {
    lagging = delay.mean / 1e6 > maxDelayMs;
    delay.reset();
  }, sampleMs).unref();

  server.addHook('onRequest', (request, _reply, done) => {
    // With next to nothing under way it is the machine that is slow, and refusing would not make it faster.
    const isOverloaded = traffic.inFlight() > (lagging ? limits.maxInFlightWhileLagging : limits.maxInFlight);
    const refuse = isOverloaded && !request.url.startsWith('/api/v1/system/health');
    done(refuse ? ServiceUnavailable({ retryAfterSeconds: 1 + Math.round(Math.random() * 3) }) : undefined);
  });
  server.addHook('onClose', (_instance, done) => {
    clearInterval(timer);
    delay.disable();
    done();
  });
}
