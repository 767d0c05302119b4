import type { FastifyRequest } from 'fastify';

import { AppError } from '#core/base/errors/app-error';
import { isStorableText } from '#core/http/json';

const maxUrlLength = 8192;
const maxHeaderLines = 100;
// The parser also accepts a request line without a version (HTTP/0.9), and one of HTTP/2.
const versions = new Set(['1.0', '1.1']);
// Node silently keeps the first of two, and a proxy in front may have used the other one.
const singleHeaders = new Set(['authorization', 'content-type', 'host']);
const singleLengths = new Set([...singleHeaders].map((name) => name.length));

/** Refuses requests that are malformed on any route. */
export function wellFormedRequest(request: FastifyRequest): AppError | undefined {
  const { headers, httpVersion, rawHeaders, url = '' } = request.raw;
  if (!versions.has(httpVersion)) return new AppError('BAD_REQUEST', 'Send the request in HTTP/1.1.');
  if (headers.host === undefined && httpVersion === '1.1')
    return new AppError('BAD_REQUEST', 'The Host header is missing.');
  if (url.length > maxUrlLength) return new AppError('URI_TOO_LONG', 'The URL is too long.');
  if (rawHeaders.length > 2 * maxHeaderLines)
    return new AppError('HEADERS_TOO_LARGE', `The request has more than ${maxHeaderLines} headers.`);
  // The parser accepts any list that ends with chunked, and passes on a body that is still encoded.
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersion !== '1.1'))
    return new AppError('BAD_REQUEST', 'The only Transfer-Encoding is chunked.');
  return doubledHeader(rawHeaders);
}

function doubledHeader(rawHeaders: readonly string[]): AppError | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    // Few headers are as long as one of these, and only they are worth lower-casing.
    if (!singleLengths.has(rawHeaders[at]!.length)) continue;
    const name = rawHeaders[at]!.toLowerCase();
    if (!singleHeaders.has(name)) continue;
    if (seen.has(name)) return new AppError('BAD_REQUEST', `The ${name} header is duplicate. Send it once.`);
    seen.add(name);
  }
  return undefined;
}

/** @throws AppError if the URL has text that is not Unicode, or that PostgreSQL cannot compare. */
export function assertStorableUrl(request: FastifyRequest): void {
  if (!request.url.includes('%')) return;
  if (!isDecodable(request.url)) throw new AppError('BAD_REQUEST', 'The URL is not valid.');
  const values = [...Object.values(request.params as object), ...Object.values(request.query as object)].flat();
  if (values.every((value) => typeof value !== 'string' || isStorableText(value))) return;
  throw new AppError('VALIDATION_ERROR', 'The URL has a NUL character or broken Unicode in it.');
}

/** A request that did not arrive in full: the sender's failure, not the database's and not ours. */
export function senderFailure(error: unknown, request: FastifyRequest): AppError | undefined {
  const hasArrived = request.raw.complete ?? true;
  if (hasArrived) return undefined;
  const { code } = error as { code?: string };
  if (code === 'FST_ERR_HANDLER_TIMEOUT') {
    return new AppError('REQUEST_TIMEOUT', 'The request took too long to arrive.');
  }
  if (code === 'ECONNRESET') return new AppError('BAD_REQUEST', 'The request ended before it had arrived.');
  return undefined;
}

// The query parser takes broken percent-encoding for literal text, so it would be searched for and stored.
function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/** Whether anything follows the headers. */
export function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0' } = headers;
  return length !== '0' || headers['transfer-encoding'] !== undefined;
}
