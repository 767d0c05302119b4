import type { FastifyInstance, FastifyRequest } from 'fastify';

import { createOnePerTurn } from '#core/base/concurrency/one-per-turn';
import { AppError } from '#core/base/errors/app-error';
import { flowOfRequest, queueAfterBody } from '#core/http/admission';
import { parseForm } from '#core/http/forms';
import { assertUtf8, parseJsonBody } from '#core/http/json';

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

const inTurn = createOnePerTurn();

/** Parses only bodies of admitted requests, and of the large ones only one in each turn of the event loop. */
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
    else if (body.length > largeBytes) inTurn(flowOfRequest(request), parseNow);
    else parseNow();
  });
}

/** @throws AppError where the bytes are not the text itself. */
function assertReadable({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding.');
  assertUtf8(headers['content-type']);
}
