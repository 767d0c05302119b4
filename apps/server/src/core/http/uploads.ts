import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

import { AppError, defineError } from '#core/base/errors/app-error';
import { ServiceUnavailable } from '#core/base/errors/common-errors';

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
  'Send the size of the file in Content-Length. Chunked transfer is not supported.',
  'LENGTH_REQUIRED',
);

/** A slower upload keeps room in the store from others. */
const minBytesPerSecond = 16 * 1024;

export type UploadLimits = {
  /** Time without a byte. */
  idleMs: number;
  /** Time in which an upload may be slower than 16 KiB/s. */
  uploadPaceMs: number;
};

/** Node applies one timeout to all requests; these are instead watched for arriving bytes. */
const watched = new WeakSet<IncomingMessage>();

export function isWatched(request: IncomingMessage | undefined): boolean {
  return request !== undefined && watched.has(request);
}

/** Accepts every content type and leaves the body unread: the handler reads it. */
export function acceptAnyContent(context: FastifyInstance, lingerMs: number): void {
  context.removeAllContentTypeParsers();
  context.addContentTypeParser('*', (_request, _body, done) => done(null));
  context.addHook('onSend', (request, _reply, payload, done) => {
    discardBody(request.raw, lingerMs);
    done(null, payload);
  });
}

/** The body is not needed after the answer, but closing at once may keep the client from reading the answer. */
function discardBody(request: IncomingMessage, lingerMs: number): void {
  if (request.complete || request.readableEnded) return;
  // A handler that stopped reading half way still listens for `readable`, and with such a listener nothing flows.
  request.removeAllListeners('readable');
  request.resume();
  const { socket } = request;
  const timer = setTimeout(() => void request.destroy(), lingerMs).unref();
  // Where the connection closes with the answer: only our half of it, or bytes that still come would reset it.
  socket.destroySoon = () => void socket.end();
  const finish = () => {
    clearTimeout(timer);
    Reflect.deleteProperty(socket, 'destroySoon');
    if (socket.writableEnded) socket.destroySoon();
  };
  request.once('end', finish);
  request.once('close', finish);
}

type Options = UploadLimits & {
  /** Aborted when the process will not wait for uploads any longer. */
  ending: AbortSignal;
  /** Called once all bytes are there, before the stream ends: what it throws ends the upload. */
  assertPermitted(): Promise<void>;
};

/** @throws LengthRequired */
export function uploadOf({ raw, headers }: FastifyRequest, options: Options): Upload {
  const length = headers['content-length'];
  if (length === undefined) throw LengthRequired();
  const sizeBytes = Number(length);
  watched.add(raw);
  return {
    stream: Readable.from(arriving(raw, { ...options, sizeBytes }), { objectMode: false }),
    sizeBytes,
    contentType: headers['content-type'] ?? 'application/octet-stream',
  };
}

async function* arriving(raw: IncomingMessage, options: Options & { sizeBytes: number }) {
  const { sizeBytes, idleMs, uploadPaceMs, ending } = options;
  // Destroying the request would take the connection with it, and the answer.
  const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  const idleTimer = createIdleTimer(Math.min(idleMs, uploadPaceMs), ending);
  const pace = createPace(uploadPaceMs);
  let received = 0;
  try {
    for (;;) {
      const askedAt = performance.now();
      const { done, value } = await idleTimer.wait(chunks.next());
      if (done === true) break;
      received += value.length;
      pace.assertKept(value.length, performance.now() - askedAt);
      yield value;
    }
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff(error);
  } finally {
    idleTimer.end();
  }
  if (received !== sizeBytes) throw brokenOff(undefined);
  await options.assertPermitted();
}

function brokenOff(cause: unknown): AppError {
  return new AppError('BAD_REQUEST', 'The request ended before it had arrived.', { cause });
}

function tooSlow(): AppError {
  return new AppError('REQUEST_TIMEOUT', 'The file arrives too slowly. Send it again over a faster connection.');
}

/** Measures the transfer rate over each window of waiting; time in which the service does not read is not counted. */
function createPace(windowMs: number) {
  let waitedMs = 0;
  let bytes = 0;
  return {
    /** @throws AppError REQUEST_TIMEOUT */
    assertKept(newBytes: number, newMs: number): void {
      waitedMs += newMs;
      bytes += newBytes;
      if (waitedMs < windowMs) return;
      if (bytes < (minBytesPerSecond * waitedMs) / 1000) throw tooSlow();
      waitedMs = 0;
      bytes = 0;
    },
  };
}

/** Limits the wait for each chunk; the time between two waits does not count. */
function createIdleTimer(idleMs: number, ending: AbortSignal) {
  let giveUp: ((error: Error) => void) | undefined;
  const timer = setTimeout(() => {
    giveUp?.(tooSlow());
  }, idleMs).unref();
  const stop = () => giveUp?.(ServiceUnavailable({ retryAfterSeconds: 1 }));
  ending.addEventListener('abort', stop);
  return {
    wait<Value>(next: Promise<Value>): Promise<Value> {
      timer.refresh();
      return new Promise<Value>((resolve, reject) => {
        giveUp = reject;
        next.then(resolve, reject);
        if (ending.aborted) stop();
      }).finally(() => (giveUp = undefined));
    },
    end() {
      clearTimeout(timer);
      ending.removeEventListener('abort', stop);
    },
  };
}
