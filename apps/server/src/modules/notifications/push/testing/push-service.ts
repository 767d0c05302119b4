import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

import { makeCertificate, type Certificate } from '#core/platform/outbound/testing/certificates';
import { listen } from '#core/platform/outbound/testing/outside';

export type Pushed = { path: string; headers: IncomingHttpHeaders; body: Buffer };

type Behave = (response: ServerResponse, request: IncomingMessage, pushed: Pushed) => void;

export type TestPushService = {
  origin: string;
  /** Everything that it was sent, in order. */
  received: Pushed[];
  /** Replaces the behaviour for later messages; for one endpoint, or all. */
  behave(how: Behave | number, endpoint?: string): void;
};

/** A push service (RFC 8030) with TLS, until the test ends. */
export async function startPushService(): Promise<TestPushService> {
  const received: Pushed[] = [];
  const behaviours = new Map<string | undefined, Behave>();
  certificate ??= trustedCertificate();
  const server = createServer(certificate, (request, response) => {
    void buffer(request).then((body) => {
      const pushed = { path: request.url!, headers: request.headers, body };
      received.push(pushed);
      const behave = behaviours.get(pushed.path) ?? behaviours.get(undefined);
      if (behave === undefined) response.writeHead(201, { location: '/message/1' }).end();
      else behave(response, request, pushed);
    });
  });
  const origin = `https://127.0.0.1:${await listen(server)}`;
  return {
    origin,
    received,
    behave(how, endpoint) {
      const path = endpoint === undefined ? undefined : new URL(endpoint).pathname;
      behaviours.set(path, typeof how === 'number' ? (response) => response.writeHead(how).end('canary') : how);
    },
  };
}

/** One for all: of several that have the same name only one would be found. */
let certificate: Certificate | undefined;

function trustedCertificate(): Certificate {
  const made = makeCertificate({ hosts: ['127.0.0.1'] });
  setDefaultCACertificates([...getCACertificates('default'), made.cert]);
  return made;
}
