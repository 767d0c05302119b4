import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';

import { ServiceUnavailable } from '#core/errors/common-errors';

const maxDelayMs = 250;
const maxInFlight = 2000;
const sampleMs = 500;

/**
 * Refuses work with 503 while the event loop lags or too many requests are under way, so that what was
 * accepted is still answered in time. Health keeps answering: it is what tells the load balancer.
 */
export function overloadGate(server: FastifyInstance): void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  let inFlight = 0;
  let lagging = false;
  const timer = setInterval(() => {
    lagging = delay.mean / 1e6 > maxDelayMs;
    delay.reset();
  }, sampleMs).unref();

  server.addHook('onRequest', (request, reply, done) => {
    inFlight += 1;
    // 'close' comes for aborted requests too, which Fastify's own onResponse does not see.
    reply.raw.once('close', () => (inFlight -= 1));
    const refuse = (lagging || inFlight > maxInFlight) && !request.url.startsWith('/api/v1/system/health');
    done(refuse ? ServiceUnavailable({ retryAfterSeconds: 1 + Math.round(Math.random() * 3) }) : undefined);
  });
  server.addHook('onClose', (_instance, done) => {
    clearInterval(timer);
    delay.disable();
    done();
  });
}
