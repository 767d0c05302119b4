import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AppError } from '#core/errors/app-error';
import { queueAfterBody } from '#core/http/admission';
import { parseForm } from '#core/http/forms';
import { assertUtf8, parseJsonBody } from '#core/http/json';

const maxFormBytes = 65_536;

export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) =>
    parseAdmitted(request, done, () => parseJsonBody(body as Buffer)),
  );
}

export function acceptFormsOnly(context: FastifyInstance): void {
  context.removeAllContentTypeParsers();
  const type = 'application/x-www-form-urlencoded';
  context.addContentTypeParser(type, { parseAs: 'buffer', bodyLimit: maxFormBytes }, (request, body, done) =>
    parseAdmitted(request, done, () => parseForm(body as Buffer)),
  );
  context.addContentTypeParser('*', (_request, _body, done) => {
    done(new AppError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${type}.`));
  });
}

type Done = (error: Error | null, body?: unknown) => void;

/** Parses only what is going to be worked on. */
function parseAdmitted(request: FastifyRequest, done: Done, parse: () => unknown): void {
  queueAfterBody(request, (refusal) => {
    if (refusal !== undefined) return done(refusal);
    let body: unknown;
    try {
      assertReadable(request);
      body = parse();
    } catch (error) {
      return done(error as Error);
    }
    done(null, body);
  });
}

/** @throws AppError where the bytes are not the text itself. */
function assertReadable({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding.');
  assertUtf8(headers['content-type']);
}
