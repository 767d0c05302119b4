import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { newId } from '#core/crypto/ids';
import { AppError } from '#core/errors/app-error';
import { presentError } from '#core/http/error-body';
import { securityHeaders } from '#core/http/security-headers';

type ParserError = Error & { code?: string };

/** Answers what Node refuses before there is a request: malformed framing, oversized headers, slow senders. */
export function answerParserError(error: ParserError, socket: Socket): void {
  if (socket.destroyed || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const failure = parserFailure(error);
  const { body, headers } = render(failure);
  const head = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${head.join('')}\r\n${body}`);
}

/** Node answers `Expect:` with an empty 417; say it in the standard body. */
export function refuseExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const failure = new AppError('EXPECTATION_FAILED', 'The Expect header is not supported.');
    const { body, headers } = render(failure);
    response.writeHead(failure.status, { ...headers, connection: 'close' }).end(body);
  });
}

function parserFailure(error: ParserError): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new AppError('HEADERS_TOO_LARGE', 'The request headers are too large.');
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('REQUEST_TIMEOUT', 'The request took too long to arrive.');
  return new AppError('BAD_REQUEST', 'The request is not valid HTTP.');
}

function render(failure: AppError): { body: string; headers: Record<string, string> } {
  const requestId = newId();
  const body = JSON.stringify(presentError(failure, requestId));
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
