import type { FastifyInstance, FastifyRequest } from 'fastify';

import { createPacedTurns } from '#core/base/concurrency/paced-turns';
import { AppError } from '#core/base/errors/app-error';
import { flowOfRequest, queueAfterBody } from '#core/http/admission';
import { parseForm } from '#core/http/forms';
import { assertUtf8, parseJsonBody } from '#core/http/json';
import { overloaded, unverifiedTenant } from '#core/platform/limits/queue';

const maxFormBytes = 65_536;
/** Parsing more takes the event loop long enough to be noticed by other requests. */
const largeBytes = 65_536;

export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) =>
    parseAdmitted(request, body as Buffer, parseJsonBody, done),
  );
}

export function acceptFormsOnly(context: FastifyInstance): void {
  context.removeAllContentTypeParsers();
  const type = 'application/x-www-form-urlencoded';
  context.addContentTypeParser(type, { parseAs: 'buffer', bodyLimit: maxFormBytes }, (request, body, done) =>
    parseAdmitted(request, body as Buffer, parseForm, done),
  );
  context.addContentTypeParser('*', (_request, _body, done) => {
    done(new AppError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${type}.`));
  });
}

type Done = (error: Error | null, body?: unknown) => void;

/** Each of the large bodies that wait takes up to `BODY_LIMIT_BYTES` of memory. */
const maxWaiting = { all: 96, tenant: 48, unverified: 24 };
const inTurn = createPacedTurns({
  max: maxWaiting.all,
  maxOf: (tenant) => (tenant === unverifiedTenant ? maxWaiting.unverified : maxWaiting.tenant),
  timeoutMs: Infinity,
});

/** Parses only bodies of admitted requests, and of the large ones one at a time. */
function parseAdmitted(request: FastifyRequest, body: Buffer, parse: (body: Buffer) => unknown, done: Done): void {
  const parseNow = () => {
    let value: unknown;
    try {
      assertReadable(request);
      value = parse(body);
    } catch (error) {
      return done(error as Error);
    }
    done(null, value);
  };
  queueAfterBody(request, (refusal) => {
    if (refusal !== undefined) done(refusal);
    else if (body.length <= largeBytes) parseNow();
    else inTurn(flowOfRequest(request), (full) => (full === undefined ? parseNow() : done(overloaded())));
  });
}

/** @throws AppError where the bytes are not the text itself. */
function assertReadable({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding.');
  assertUtf8(headers['content-type']);
}
