import contentDisposition from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { finished, Readable } from 'node:stream';
import Type from 'typebox';

import { AppError } from '#core/base/errors/app-error';
import { ServiceUnavailable } from '#core/base/errors/common-errors';
import type { Log } from '#core/data/log/log';
import type { Route } from '#core/http/route';
import { securityHeaders } from '#core/http/security-headers';

/** The response schema of routes that answer with a `Download`. */
export const FileContent = Type.Unsafe<string>({ type: 'string', format: 'binary' });

/** The response schema of routes that answer with a `Stream`. */
export const StreamedContent = Type.Unsafe<string>({ type: 'string', format: 'binary' });

/** A file that comes into being while it is sent: of unknown length, so always whole. `open` is called once. */
export type Stream = { name: string; contentType: string; open(): Readable };

/** A file as an answer; which part of it, and whether any, follows from the request's headers. */
export type Download = {
  name: string;
  contentType: string;
  sizeBytes: number;
  /** Names the content: another content, another tag. */
  etag: string;
  open(range?: { start: number; end: number }): Promise<Readable>;
};

export function isDownload(route: Route): boolean {
  return Object.values(route.schema.response).includes(FileContent);
}

export function isStream(route: Route): boolean {
  return Object.values(route.schema.response).includes(StreamedContent);
}

type Options = {
  log: Log;
  /** How long the store may send nothing while the client waits. */
  idleMs: number;
};

/** Sends the file or what becomes one. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: Download | Stream,
  options: Options,
): Promise<FastifyReply> {
  return 'sizeBytes' in file
    ? sendDownload(request, reply, file, options)
    : sendStream(request, reply, file, options.log);
}

/** Sends the file, the part that was asked for (206), or that nothing has changed (304). */
async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  download: Download,
  { log, idleMs }: Options,
): Promise<FastifyReply> {
  const { sizeBytes } = download;
  const etag = `"${download.etag}"`;
  reply.header('etag', etag).header('accept-ranges', 'bytes');
  if (isKnown(request.headers['if-none-match'], etag)) return reply.status(304).send();
  const range = rangeOf(request, { sizeBytes, etag });
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${sizeBytes}`);
    throw new AppError('RANGE_NOT_SATISFIABLE', 'The file does not reach that far.');
  }
  const length = range === undefined ? sizeBytes : range.end - range.start + 1;
  const source = request.method === 'HEAD' ? Readable.from([]) : await inTime(download.open(range), idleMs);
  if (range !== undefined) reply.status(206).header('content-range', `bytes ${range.start}-${range.end}/${sizeBytes}`);
  reply.headers(fileHeaders(download)).header('content-length', String(length));
  if (request.method === 'HEAD') return reply.send(source);
  const body = Readable.from(exactly(source, length, idleMs), { objectMode: false });
  // A generator that was never begun, or waits for a byte, does not close what it reads.
  finished(reply.raw, () => {
    body.destroy();
    source.destroy();
  });
  body.on('error', (error) => log.error({ err: error, requestId: request.id }, 'a download was interrupted'));
  return reply.send(body);
}

/** Sends what the stream yields at the pace of the reader; an error in it breaks the connection, so that no part passes for all. */
function sendStream(request: FastifyRequest, reply: FastifyReply, stream: Stream, log: Log): FastifyReply {
  const source = stream.open();
  source.on('error', (error) => log.error({ err: error, requestId: request.id }, 'a stream was interrupted'));
  reply.headers(fileHeaders(stream));
  if (request.method === 'HEAD') {
    source.destroy();
    return reply.send('');
  }
  return reply.send(source);
}

// Content that a tenant stored must never run in a browser under our origin, even if its type says HTML.
function fileHeaders({ name, contentType }: Pick<Download, 'name' | 'contentType'>): Record<string, string> {
  return {
    'content-type': contentType,
    'content-disposition': contentDisposition(name),
    'content-security-policy': `${securityHeaders['content-security-policy']}; sandbox`,
  };
}

/** If-None-Match compares weakly (RFC 9110 section 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

type Span = { start: number; end: number };

/** Undefined for the whole file: without a range, with an invalid one or several, and with one of an older content. */
function rangeOf(
  { method, headers }: FastifyRequest,
  { sizeBytes, etag }: { sizeBytes: number; etag: string },
): Span | 'unsatisfiable' | undefined {
  const { range, 'if-range': condition } = headers;
  if (range === undefined || method !== 'GET') return undefined;
  if (condition !== undefined && condition !== etag) return undefined;
  return spanOf(range, sizeBytes);
}

/** One range of bytes (RFC 9110 section 14.1.2): `0-9`, `10-` to the end, or `-10` for the last ones. */
function spanOf(range: string, sizeBytes: number): Span | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  const isSuffix = first === '';
  if (!isSuffix && last !== '' && BigInt(first) > BigInt(last)) return undefined;
  const start = isSuffix ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = isSuffix || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

/** The time in which the client does not read is not counted. */
function silence(giveUp: (error: Error) => void, idleMs: number): NodeJS.Timeout {
  const error = () => ServiceUnavailable({ cause: new Error(`the store sent nothing for ${idleMs} ms`) });
  return setTimeout(() => giveUp(error()), idleMs);
}

async function inTime(opening: Promise<Readable>, idleMs: number): Promise<Readable> {
  const late = Promise.withResolvers<never>();
  const timer = silence((error) => {
    late.reject(error);
    opening.then(
      (source) => source.destroy(),
      () => undefined,
    );
  }, idleMs);
  return Promise.race([opening, late.promise]).finally(() => clearTimeout(timer));
}

/** Fails when the source ends early or sends nothing, so that the connection closes instead of looking complete. */
async function* exactly(source: Readable, length: number, idleMs: number) {
  const giveUp = (error: Error) => void source.destroy(error);
  let sent = 0;
  let timer = silence(giveUp, idleMs);
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      sent += chunk.length;
      if (sent > length) throw new Error('the store has more of the file than is known');
      yield chunk;
      timer = silence(giveUp, idleMs);
    }
  } finally {
    clearTimeout(timer);
  }
  if (sent < length) throw new Error('the store has less of the file than is known');
}
