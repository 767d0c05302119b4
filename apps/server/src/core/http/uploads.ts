import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AppError, defineError } from '#core/errors/app-error';

/** A body that is taken as it arrives, never as a whole. */
export type Upload = {
  /** Fails when the sender stops, or sends fewer bytes than announced. */
  stream: Readable;
  /** As announced in Content-Length. */
  sizeBytes: number;
  contentType: string;
};

export const LengthRequired = defineError(
  'BAD_REQUEST',
  'Say in Content-Length how long the file is; chunked transfer is not taken.',
  'LENGTH_REQUIRED',
);

/** An upload that is slower on the whole keeps its place from others for nothing. */
const leastBytesPerSecond = 1024;

/** Node measures the patience of all requests alike; these are judged by whether bytes still come. */
const watched = new WeakSet<IncomingMessage>();

export function isWatched(request: IncomingMessage | undefined): boolean {
  return request !== undefined && watched.has(request);
}

/** Lets every type of content through, unread: whoever handles the request reads it. */
export function acceptAnyContent(context: FastifyInstance, lingerMs: number): void {
  context.removeAllContentTypeParsers();
  context.addContentTypeParser('*', (_request, _body, done) => done(null));
  context.addHook('onSend', (request, _reply, payload, done) => {
    dropRest(request.raw, lingerMs);
    done(null, payload);
  });
}

/** After the answer nobody wants the rest; but closing at once may keep the answer from being read. */
function dropRest(request: IncomingMessage, lingerMs: number): void {
  if (request.complete || request.readableEnded) return;
  // Whoever read the body and stopped half way still listens, and as long as somebody does, nothing flows.
  request.removeAllListeners('readable');
  request.resume();
  const timer = setTimeout(() => void request.destroy(), lingerMs).unref();
  request.once('end', () => clearTimeout(timer));
  request.once('close', () => clearTimeout(timer));
}

/** @throws LengthRequired */
export function uploadOf({ raw, headers }: FastifyRequest, idleMs: number): Upload {
  const length = headers['content-length'];
  if (length === undefined) throw LengthRequired();
  const sizeBytes = Number(length);
  watched.add(raw);
  return {
    stream: Readable.from(arriving(raw, { sizeBytes, idleMs }), { objectMode: false }),
    sizeBytes,
    contentType: headers['content-type'] ?? 'application/octet-stream',
  };
}

async function* arriving(raw: IncomingMessage, { sizeBytes, idleMs }: { sizeBytes: number; idleMs: number }) {
  // Destroying the request would take the connection with it, and the answer.
  const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  const patience = createPatience(idleMs);
  const pace = createPace(idleMs);
  let received = 0;
  try {
    for (;;) {
      const askedAt = performance.now();
      const { done, value } = await patience.wait(chunks.next());
      if (done === true) break;
      received += value.length;
      pace.assertKept(value.length, performance.now() - askedAt);
      yield value;
    }
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff(error);
  } finally {
    patience.end();
  }
  if (received !== sizeBytes) throw brokenOff(undefined);
}

function brokenOff(cause: unknown): AppError {
  return new AppError('BAD_REQUEST', 'The request ended before it had arrived.', { cause });
}

function tooSlow(): AppError {
  return new AppError('REQUEST_TIMEOUT', 'The request took too long to arrive.');
}

/** Judges each stretch of waiting by what came in it; the time in which nobody asked for more is not the sender's. */
function createPace(windowMs: number) {
  let waitedMs = 0;
  let bytes = 0;
  return {
    /** @throws AppError REQUEST_TIMEOUT */
    assertKept(newBytes: number, newMs: number): void {
      waitedMs += newMs;
      bytes += newBytes;
      if (waitedMs < windowMs) return;
      if (bytes < (leastBytesPerSecond * waitedMs) / 1000) throw tooSlow();
      waitedMs = 0;
      bytes = 0;
    },
  };
}

/** Waits for one thing after the other, for each only so long; what lies between does not count. */
function createPatience(idleMs: number) {
  let giveUp: ((error: Error) => void) | undefined;
  const timer = setTimeout(() => {
    giveUp?.(tooSlow());
  }, idleMs).unref();
  return {
    wait<Value>(next: Promise<Value>): Promise<Value> {
      timer.refresh();
      return new Promise<Value>((resolve, reject) => {
        giveUp = reject;
        next.then(resolve, reject);
      }).finally(() => (giveUp = undefined));
    },
    end: () => clearTimeout(timer),
  };
}
