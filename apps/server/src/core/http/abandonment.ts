import type { FastifyInstance, FastifyReply } from 'fastify';

import { ServiceUnavailable } from '#core/errors/common-errors';

/** Aborted once nobody waits for an answer any more: its client has left, or the process stops. */
export type Abandonment = (reply: FastifyReply) => AbortSignal;

/** To be asked for by work that takes long; the reason of the signal is what such work is to throw. */
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
