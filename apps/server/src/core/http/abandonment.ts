import type { FastifyInstance, FastifyReply } from 'fastify';

import { ServiceUnavailable } from '#core/base/errors/common-errors';

/** Returns a signal that is aborted once no client waits for the answer: the client has disconnected, or the process stops. */
export type Abandonment = (reply: FastifyReply) => AbortSignal;

/** For work that takes long. Such work should throw the reason of the signal. */
export function watchAbandonment(server: FastifyInstance): Abandonment {
  const stopping = new AbortController();
  server.addHook('preClose', (done) => {
    stopping.abort(ServiceUnavailable({ retryAfterSeconds: 1 }));
    done();
  });
  return ({ raw }) => {
    const leaving = new AbortController();
    const leave = () => leaving.abort(ServiceUnavailable({ retryAfterSeconds: 1 }));
    if (raw.destroyed) leave();
    else raw.once('close', leave);
    return AbortSignal.any([leaving.signal, stopping.signal]);
  };
}
