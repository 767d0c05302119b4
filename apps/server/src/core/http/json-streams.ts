import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';

import type { Log } from '#core/data/log/log';

/** A JSON answer that is sent while it is read, for lists without a largest length: the parts of its text, in order. */
export class JsonStream {
  readonly parts: AsyncIterable<string>;

  constructor(parts: AsyncIterable<string>) {
    this.parts = parts;
  }
}

type Options = {
  log: Log;
  /** Sees the whole text before its end leaves. */
  inspect: ((text: string) => void) | undefined;
};

/** Sends at the pace of the client; a failure breaks the connection, so that no part passes for the whole. */
export function sendJsonStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { parts }: JsonStream,
  { log, inspect }: Options,
): FastifyReply {
  reply.header('content-type', 'application/json; charset=utf-8');
  if (request.method === 'HEAD') return reply.send('');
  const source = Readable.from(inspect === undefined ? parts : inspected(parts, inspect), { objectMode: false });
  source.on('error', (error) => log.error({ err: error, requestId: request.id }, 'a streamed answer was interrupted'));
  return reply.send(source);
}

async function* inspected(parts: AsyncIterable<string>, inspect: (text: string) => void) {
  const seen: string[] = [];
  for await (const part of parts) {
    seen.push(part);
    yield part;
  }
  inspect(seen.join(''));
}
