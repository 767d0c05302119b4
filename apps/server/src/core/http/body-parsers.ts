import type { FastifyInstance, FastifyRequest } from 'fastify';

import { AppError } from '#core/errors/app-error';
import { parseForm } from '#core/http/forms';
import { assertUtf8, parseJsonBody } from '#core/http/json';

const maxFormBytes = 65_536;

export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      assertReadable(request);
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

export function acceptFormsOnly(context: FastifyInstance): void {
  context.removeAllContentTypeParsers();
  const type = 'application/x-www-form-urlencoded';
  context.addContentTypeParser(type, { parseAs: 'buffer', bodyLimit: maxFormBytes }, (request, body, done) => {
    try {
      assertReadable(request);
      done(null, parseForm(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  context.addContentTypeParser('*', (_request, _body, done) => {
    done(new AppError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${type}.`));
  });
}

/** @throws AppError where the bytes are not the text itself. */
function assertReadable({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without Content-Encoding.');
  assertUtf8(headers['content-type']);
}
