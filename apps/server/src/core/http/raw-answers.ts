import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { newId } from '#core/base/crypto/ids';
import { AppError } from '#core/base/errors/app-error';
import { presentFailure } from '#core/http/error-body';
import type { ErrorForm } from '#core/http/error-forms';
import { securityHeaders } from '#core/http/security-headers';
import type { Traffic } from '#core/http/traffic';
import { isWatched } from '#core/http/uploads';

type ParserError = Error & { code?: string };

const lingerMs = 1000;

/** Answers what Node refuses before there is a request: malformed framing, oversized headers, slow senders. */
export function parserErrorHandler(
  traffic: Traffic,
  formOf: (url: string) => ErrorForm,
): (error: ParserError, socket: Duplex) => void {
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    if (isLivingUpload(error, traffic.latest(socket))) return;
    // Node reports again for every further piece of data, and one refusal is all there is to say.
    if (refused.has(socket)) return;
    refused.add(socket);
    const latest = traffic.latest(socket);
    const refuse = () => answerOnce(socket, parserFailure(error), unfinished(latest, formOf));
    if (error.code === 'ECONNRESET') socket.destroy();
    else if (latest === undefined || latest.writableFinished) {
      // The rest of an answered request is bad: a second answer would be taken for the next request's.
      if (latest?.req.complete === false) socket.destroy();
      else refuse();
    } else if (latest.req.complete) latest.once('close', refuse);
    else if (latest.headersSent || latest.socket === null) socket.destroy();
    else refuse();
  };
}

/** The error form of the path whose request could not be read completely; undefined if an earlier request was complete. */
function unfinished(latest: ServerResponse | undefined, formOf: (url: string) => ErrorForm): ErrorForm | undefined {
  return latest?.req.complete === false ? formOf(latest.req.url ?? '') : undefined;
}

/** An upload may take any time while bytes arrive; the watcher of uploads ends a stalled one. */
function isLivingUpload({ code }: ParserError, latest: ServerResponse | undefined): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' && isWatched(latest?.req);
}

/** Node answers `Expect:` with an empty 417 and CONNECT with silence; say both in the standard body. */
export function refuseExtensions(server: Server, traffic: Traffic, formOf: (url: string) => ErrorForm): void {
  server.on('checkExpectation', (_request, response) =>
    traffic.begin(response, ({ url = '' }) => refuseExpectation(response, formOf(url))),
  );
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    if (traffic.latest(socket)?.writableFinished === false) socket.destroy();
    else
      answerOnce(
        socket,
        new AppError('BAD_REQUEST', 'This service does not act as a proxy. Send the request to its own address.'),
      );
  });
}

function refuseExpectation(response: ServerResponse, form: ErrorForm): void {
  const failure = new AppError('EXPECTATION_FAILED', 'The Expect header is not supported.');
  const { body, headers } = render(failure, form);
  response.writeHead(failure.status, { ...headers, connection: 'close' }).end(body);
}

function answerOnce(socket: Duplex, failure: AppError, form?: ErrorForm): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const { body, headers } = render(failure, form);
  const head = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${head.join('')}\r\n${body}`);
  // Time for the answer to be read, as closing at once may discard it (RFC 9112 section 9.6); no more than that.
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

function parserFailure(error: ParserError): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new AppError('HEADERS_TOO_LARGE', 'The request headers are too large.');
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('REQUEST_TIMEOUT', 'The request took too long to arrive.');
  return new AppError('BAD_REQUEST', 'The request is not valid HTTP.');
}

function render(failure: AppError, form: ErrorForm | undefined): { body: string; headers: Record<string, string> } {
  const requestId = newId();
  const body = JSON.stringify(presentFailure(failure, { requestId, form }));
  return {
    body,
    headers: {
      ...securityHeaders,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'x-request-id': requestId,
    },
  };
}
