import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';

import { createOutbound } from '#core/platform/outbound/outbound';
import { makeCertificate, type Certificate } from '#core/platform/outbound/testing/certificates';
import { expectFailure, listen, outboundToLoopback, resolver } from '#core/platform/outbound/testing/outside';

const greeting = '220 ready\r\n';

function greet(): Promise<number> {
  return listen(createServer((socket) => socket.end(greeting)));
}

function greetOverTls(certificate: Certificate): Promise<number> {
  return listen(createTlsServer(certificate, (socket) => socket.end(greeting)).on('tlsClientError', () => undefined));
}

describe('connect', () => {
  it('hands over a connection, with nothing of it read', async () => {
    const socket = await outboundToLoopback().connect({ host: '127.0.0.1', port: await greet(), tls: false });
    expect(await text(socket)).toBe(greeting);
  });

  it('connects at the very address that was judged', async () => {
    const port = await greet();
    const { lookup, asked } = resolver([['127.0.0.1'], ['127.0.0.2']]);
    const socket = await outboundToLoopback({ lookup }).connect({ host: 'mail.test', port, tls: false });
    expect([socket.remoteAddress, asked]).toEqual(['127.0.0.1', ['mail.test']]);
    socket.destroy();
  });

  it.each<[string, readonly (readonly string[])[]]>([
    ['a private address', [['127.0.0.1']]],
    ['a mapped address', [['::ffff:127.0.0.1']]],
    ['a private address among public ones', [['93.184.216.34', '127.0.0.1']]],
    ['nothing', [[]]],
  ])('goes nowhere where a name leads to %s', async (_what, answers) => {
    const connections: Socket[] = [];
    const port = await listen(
      createServer((socket) => void connections.push(socket)),
      '0.0.0.0',
    );
    const outbound = createOutbound({ allowedRanges: [], ownPort: 8080, lookup: resolver(answers).lookup });
    await expectFailure(outbound.connect({ host: 'mail.test', port, tls: false }));
    expect(connections).toEqual([]);
  });

  it.each(['127.0.0.1', '127.1', '2130706433', '0x7f000001', '::1', '[::1]', '::ffff:127.0.0.1', 'localhost', '0', ''])(
    'goes nowhere at %j',
    async (host) => {
      const connections: Socket[] = [];
      const port = await listen(
        createServer((socket) => void connections.push(socket)),
        '0.0.0.0',
      );
      const outbound = createOutbound({ allowedRanges: [], ownPort: 8080 });
      await expectFailure(outbound.connect({ host, port, tls: false }));
      expect(connections).toEqual([]);
    },
  );

  it.each([25, 465, 587, 2525])('has port %i, which calls have not', async (port) => {
    const outbound = outboundToLoopback();
    expect(outbound.canTarget(`smtp://93.184.216.34:${port}`)).toBe(true);
    expect(outbound.canTarget(`https://93.184.216.34:${port}`)).toBe(false);
    const failure = await expectFailure(outbound.connect({ host: '10.0.0.1', port, tls: false }));
    expect((failure.cause as Error).message).toContain('is not open to outbound calls');
  });

  it.each([0, 1, 22, 80, 143, 443, 1023, 5432, 6379, 8080, 11_211, 65_536, Number.NaN])(
    'has no port %d',
    async (port) => {
      const failure = await expectFailure(outboundToLoopback().connect({ host: '127.0.0.1', port, tls: false }));
      expect((failure.cause as Error).message).toContain('port');
    },
  );

  it('ends with the signal, and when connecting takes too long', async () => {
    const outbound = outboundToLoopback({ limits: { connectMs: 20 }, lookup: () => undefined });
    await expectFailure(outbound.connect({ host: 'mail.test', port: 587, tls: false }));
    const target = { host: 'mail.test', port: 587, tls: false, signal: AbortSignal.abort() };
    await expectFailure(outbound.connect(target));
    const silent = { host: '127.0.0.1', port: await listen(createServer()), tls: true };
    await expectFailure(outboundToLoopback({ limits: { connectMs: 50 } }).connect(silent));
  });

  it('needs a permit as calls do, and releases it', async () => {
    const port = await greet();
    const outbound = outboundToLoopback({ limits: { maxSockets: 2, connectMs: 1000 } });
    const target = { host: '127.0.0.1', port, tls: false };
    const first = await outbound.connect(target);
    await expectFailure(outbound.connect(target));
    await text(first);
    for (let at = 0; at < 5; at += 1) await text(await outbound.connect(target));
  });
});

describe('connect over TLS', () => {
  const good = makeCertificate({ hosts: ['mail.test', '127.0.0.1'] });
  const expired = makeCertificate({
    hosts: ['expired.test'],
    notBefore: new Date(Date.now() - 7_200_000),
    notAfter: new Date(Date.now() - 3_600_000),
  });
  setDefaultCACertificates([...getCACertificates('default'), good.cert, expired.cert]);
  const lookup = resolver([['127.0.0.1']]).lookup;

  it.each(['mail.test', '127.0.0.1'])('has the certificate of %s', async (host) => {
    const port = await greetOverTls(good);
    const socket = await outboundToLoopback({ lookup }).connect({ host, port, tls: true });
    expect(await text(socket)).toBe(greeting);
  });

  it.each([
    ['of another name', good, 'other.test'],
    ['that has expired', expired, 'expired.test'],
    ['of an unknown issuer', makeCertificate({ hosts: ['self.test'] }), 'self.test'],
  ])('refuses a certificate %s', async (_what, certificate, host) => {
    const port = await greetOverTls(certificate);
    await expectFailure(outboundToLoopback({ lookup }).connect({ host, port, tls: true }));
  });
});
