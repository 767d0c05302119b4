import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createAddressGuard } from '#core/platform/outbound/addresses';
import { OutboundError, createOutbound, type OutboundOptions } from '#core/platform/outbound/outbound';
import { resolver } from '#core/platform/outbound/testing/outside';

let canary: Server;
let port: number;
/** Every connection by the address it was made to. */
const connections: (string | undefined)[] = [];

beforeAll(async () => {
  canary = createServer((_request, response) => void response.end('canary'));
  canary.on('connection', (socket) => connections.push(socket.localAddress));
  await new Promise<void>((resolve) => canary.listen(0, '0.0.0.0', resolve));
  port = (canary.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => canary.close(resolve)));

const ownPort = 8080;

async function call(url: string, options: Partial<OutboundOptions> = {}): Promise<Response> {
  const outbound = createOutbound({ allowedRanges: [], ownPort, ...options });
  try {
    return await outbound.fetch(url);
  } finally {
    await outbound.close();
  }
}

/** @returns why, as the log is told */
async function expectRefused(url: string, options: Partial<OutboundOptions> = {}): Promise<string> {
  const before = connections.length;
  const failure = await call(url, options).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(OutboundError);
  expect(connections.slice(before)).toEqual([]);
  const { cause } = failure as { cause: Error };
  return `${cause.message} ${(cause.cause as Error | undefined)?.message}`;
}

/** Forms of this machine; all of them would reach the canary. */
const disguises = [
  'http://127.0.0.1:PORT/',
  'http://127.0.0.2:PORT/',
  'http://127.255.255.254:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://0x7f.1:PORT/',
  'http://017700000001:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://0177.0.0.01:PORT/',
  'http://0x7f.0x0.0x0.0x1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://127。0。0。1:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127.0.0.1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://ⓛocalhost:PORT/',
  'HTTP://127.0.0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'http:/127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/',
];

/** The same, which a guard that looks away would pass on to the network or the resolver. */
const closedAddresses = [
  'http://[::]:PORT/',
  'http://[::1]:PORT/',
  'http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[::ffff:0:127.0.0.1]:PORT/',
  'http://[64:ff9b::7f00:1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2002:c0a8:101::1]/',
  'http://[2001:0:7f00:1::]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/v2/credentials',
  'http://2852039166/latest/meta-data/',
  'http://0xa9fea9fe/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/latest/meta-data/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://168.63.129.16/metadata',
  'http://100.100.100.200/latest/meta-data/',
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://192.0.0.192/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://239.255.255.250/',
  'http://255.255.255.255/',
  'http://240.0.0.1/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
  'http://[2001:db8::1]/',
];

const refusedForms = [
  'http://user@127.0.0.1:PORT/',
  'http://user:password@127.0.0.1:PORT/',
  'http://example.com@127.0.0.1:PORT/',
  'http://example.com#@127.0.0.1:PORT/',
  'http://example.com\\@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT\\@example.com/',
  'http://127.0.0.1:PORT/#fragment',
  'http://127.0.0.1:PORT/#',
  'http://127.0.0.1:PORT/\r\nHost: example.com',
  'ht\ntp://127.0.0.1:PORT/',
  ' http://127.0.0.1:PORT/',
  'http://127.0.0.1:PORT/ ',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  'https://',
  '',
  'ftp://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'data:text/plain,hello',
  'gopher://127.0.0.1:PORT/_x',
  'ws://127.0.0.1:PORT/',
  'blob:http://127.0.0.1:PORT/6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  'http+unix://127.0.0.1:PORT/',
  'http://127.0.0.1:65536/',
  'http://127.0.0.1:-1/',
  'http://127.0.0.1:0/',
  'http://256.256.256.256/',
  'http://[::1/',
];

const at = (form: string) => form.replaceAll('PORT', String(port));

describe('addresses of this machine and of private networks', () => {
  it.each([...disguises, ...closedAddresses])('%s is not connected to', async (form) => {
    expect(await expectRefused(at(form))).toContain('is not open to outbound calls');
  });

  it('localhost. is not connected to, whether the resolver knows it or not', async () => {
    expect(await expectRefused(at('http://localhost.:PORT/'))).toMatch(/is not open to outbound calls|ENOTFOUND/);
  });

  it('there are enough forms, and without the guard they would arrive', async () => {
    expect(disguises.length + closedAddresses.length + refusedForms.length).toBeGreaterThanOrEqual(90);
    const before = connections.length;
    const openAll = { allowedRanges: ['0.0.0.0/0', '::/0'] };
    for (const form of disguises)
      expect([form, await (await call(at(form), openAll)).text()]).toEqual([form, 'canary']);
    expect(connections.length - before).toBe(disguises.length);
  });
});

describe('invalid address forms', () => {
  // All addresses are open here, so that nothing but the form can refuse.
  it.each(refusedForms)('%j is refused', async (form) => {
    const reason = await expectRefused(at(form), { allowedRanges: ['0.0.0.0/0', '::/0'] });
    expect(reason).toContain('this address is never called');
  });
});

describe('ports', () => {
  const outbound = createOutbound({ allowedRanges: [], ownPort });

  it.each([80, 443, 1024, 3000, 8443, 9443, 65_535])('%i may be called', (number) => {
    expect(outbound.canTarget(`https://93.184.216.34:${number}/`)).toBe(true);
  });

  it.each([0, 1, 21, 22, 25, 79, 81, 442, 444, 587, 1023, 2375, 3306, 5432, 6379, 8080, 9200, 11_211, 27_017])(
    '%i may not',
    async (number) => {
      const url = `http://93.184.216.34:${number}/`;
      expect(outbound.canTarget(url)).toBe(false);
      await expectRefused(url);
    },
  );

  it('stay closed where a private range is open', () => {
    const opened = createOutbound({ allowedRanges: ['10.0.0.0/8'], ownPort });
    expect(opened.canTarget('http://10.0.0.1:5432/')).toBe(false);
    expect(opened.canTarget('http://10.0.0.1:15432/')).toBe(true);
  });
});

describe('names', () => {
  it.each<[string, Parameters<typeof resolver>[0]]>([
    ['a private address', [['127.0.0.1']]],
    ['a mapped address', [['::ffff:127.0.0.1']]],
    ['a translated address', [['64:ff9b::7f00:1']]],
    ['an address with a zone', [['fe80::1%lo']]],
    ['a private address among public ones', [['93.184.216.34', '127.0.0.1']]],
    ['a private address of the other family', [['93.184.216.34', '::1']]],
    ['a text that is not an address', [['localhost']]],
    ['nothing', [[]]],
  ])('that lead to %s are not connected to', async (_name, answers) => {
    const { lookup, asked } = resolver(answers);
    await expectRefused(`http://127.0.0.1.nip.test:${port}/`, { lookup });
    expect(asked).toEqual(['127.0.0.1.nip.test']);
  });

  it('are connected to at the very address that was judged', async () => {
    const { lookup, asked } = resolver([['127.0.0.1'], ['127.0.0.2']]);
    const before = connections.length;
    const answer = await call(`http://rebind.test:${port}/`, { lookup, allowedRanges: ['127.0.0.1'] });
    expect(await answer.text()).toBe('canary');
    expect(asked).toHaveLength(1);
    expect(connections.slice(before)).toEqual(['127.0.0.1']);
  });

  it('are judged again on every call', async () => {
    const { lookup } = resolver([['127.0.0.1'], ['127.0.0.2']]);
    const outbound = createOutbound({ allowedRanges: ['127.0.0.1'], ownPort, lookup });
    const before = connections.length;
    expect((await outbound.fetch(`http://rebind.test:${port}/`)).status).toBe(200);
    await expect(outbound.fetch(`http://rebind.test:${port}/`)).rejects.toThrow(OutboundError);
    expect(connections.slice(before)).toEqual(['127.0.0.1']);
    await outbound.close();
  });

  it('keep their Host header', async () => {
    const hosts: unknown[] = [];
    const server = createServer((request, response) => {
      hosts.push(request.headers.host);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { lookup } = resolver([['127.0.0.1']]);
    const host = `service.test:${(server.address() as AddressInfo).port}`;
    await call(`http://${host}/`, { lookup, allowedRanges: ['127.0.0.1'] });
    expect(hosts).toEqual([host]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('names over TLS', () => {
  it('ask for their own certificate', async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, answer) => {
        names.push(name);
        answer(new Error('no certificate'));
      },
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { lookup } = resolver([['127.0.0.1']]);
    const url = `https://service.test:${(server.address() as AddressInfo).port}/`;
    await expect(call(url, { lookup, allowedRanges: ['127.0.0.1'] })).rejects.toThrow(OutboundError);
    expect(names).toEqual(['service.test']);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('createAddressGuard', () => {
  it.each([
    '8.8.8.8',
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ])('%s is public', (address) => {
    expect(createAddressGuard([]).isAllowed(address)).toBe(true);
  });

  it.each([
    ['10.1.0.0/16', '10.1.255.255', '10.2.0.0'],
    ['192.168.7.9', '192.168.7.9', '192.168.7.10'],
    ['127.0.0.1/32', '::ffff:127.0.0.1', '::1'],
    ['fd00::/8', 'fd00:ec2::254', 'fc00::1'],
    ['::1/128', '::1', '127.0.0.1'],
    // An IPv6 range opens no IPv4 address, however many it covers when they are written as IPv6.
    ['::/0', 'fd00:ec2::254', '169.254.169.254'],
    ['::/64', '::1', '::ffff:10.0.0.1'],
  ])('%s opens %s and not %s', (range, inside, outside) => {
    const guard = createAddressGuard([range]);
    expect(guard.isAllowed(inside)).toBe(true);
    expect(guard.isAllowed(outside)).toBe(false);
  });

  it.each(['', 'localhost', '127.0.0.1.', '1', '999.1.1.1', 'fe80::1%eth0'])('%j is not an address', (text) => {
    expect(createAddressGuard(['0.0.0.0/0', '::/0']).isAllowed(text)).toBe(false);
  });
});
