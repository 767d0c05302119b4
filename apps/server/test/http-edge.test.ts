import { beforeAll, describe, expect, it } from 'vitest';

import { expectRefusal, expectSafeHeaders, useEdges } from '#test/support/edge';
import { createTenant, logIn, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { exchange, openConnection } from '#test/support/raw-connection';

const test = useService();
const open = useEdges(test);
let port: number;
let tenant: Tenant;

beforeAll(async () => {
  ({ port } = await open());
  tenant = await createTenant(test);
});

const health = '/api/v1/system/health';
const login = '/api/v1/public/auth/login';
const contacts = '/api/v1/secure/contacts';

/** A request with what it must have; the connection closes after it unless told otherwise. */
function request(method: string, url: string, headers: string[] = [], body = ''): string {
  const lines = [`${method} ${url} HTTP/1.1`, 'Host: atrium.test', 'Connection: close', ...headers];
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

async function send(method: string, url: string, headers: string[] = [], body = '') {
  const answers = await exchange(port, request(method, url, headers, body));
  expect(answers).toHaveLength(1);
  return answers[0]!;
}

const bearer = () => `Authorization: Bearer ${tenant.admin.token}`;

describe('the request line and the headers', () => {
  it.each([
    ['no Host', `GET ${health} HTTP/1.1\r\nConnection: close\r\n\r\n`],
    ['two Hosts', `GET ${health} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n`],
    ['two Content-Types', request('POST', login, ['content-type: text/plain'], '{}')],
    ['a method that HTTP does not have', request('FOO', '/')],
    ['a version that HTTP does not have', `GET ${health} HTTP/1.7\r\nHost: a\r\n\r\n`],
    ['no version (HTTP/0.9)', `GET ${health}\r\n\r\n`],
    ['version 0.9', `GET ${health} HTTP/0.9\r\nHost: a\r\n\r\n`],
    ['a version of another framing', `GET ${health} HTTP/2.0\r\nHost: a\r\n\r\n`],
    ['no request line', 'hello\r\n\r\n'],
    ['a header without a name', `GET ${health} HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n`],
    ['a space before the colon', `GET ${health} HTTP/1.1\r\nHost: a\r\nX-Odd : x\r\n\r\n`],
    ['NUL in a header', `GET ${health} HTTP/1.1\r\nHost: a\r\nX-Odd: a\0b\r\n\r\n`],
    ['broken percent-encoding in the path', request('GET', '/%zz')],
    ['invalid UTF-8 in the path', request('GET', `${contacts}/%ff`)],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
  ])('400: %s', async (_what, text) => {
    const answers = await exchange(port, text);
    expect(answers).toHaveLength(1);
    expectRefusal(answers[0]!, 'BAD_REQUEST');
  });

  it('400: a duplicate Authorization header', async () => {
    expectRefusal(await send('GET', contacts, [bearer(), bearer()]), 'BAD_REQUEST');
  });

  it('400: broken percent-encoding in the query', async () => {
    for (const text of ['%zz', '%ff', '%c0%80', '%', '%ed%a0%80'])
      expectRefusal(await send('GET', `${contacts}?search=${text}`, [bearer()]), 'BAD_REQUEST');
  });

  it('HTTP/1.0 does not require Host', async () => {
    const [answer, ...others] = await exchange(port, `GET ${health} HTTP/1.0\r\n\r\n`);
    expect([answer!.status, others]).toEqual([200, []]);
  });

  it('414: a URL of more than 8 KiB', async () => {
    expectRefusal(await send('GET', `${health}?${'x'.repeat(8200)}`), 'URI_TOO_LONG');
  });

  it('414: a path segment longer than any id', async () => {
    expectRefusal(await send('GET', `${contacts}/${'x'.repeat(300)}`), 'URI_TOO_LONG');
  });

  it('431: headers of more than 16 KiB, and a URL as long as that', async () => {
    expectRefusal(await send('GET', health, [`X-Long: ${'x'.repeat(17_000)}`]), 'HEADERS_TOO_LARGE');
    expectRefusal(await send('GET', `/${'x'.repeat(20_000)}`), 'HEADERS_TOO_LARGE');
  });

  it('431: more than 100 headers', async () => {
    const odd = (count: number) => Array.from({ length: count }, (_, at) => `X-Odd-${at}: a`);
    // Host and Connection are headers too.
    expect((await send('GET', health, odd(98))).status).toBe(200);
    for (const count of [99, 200, 1000]) {
      const answer = await send('GET', health, odd(count));
      expectRefusal(answer, 'HEADERS_TOO_LARGE');
      expect(answer.headers.connection).toBe('close');
    }
    const nameless = Array.from({ length: 3000 }, () => 'a:');
    expectRefusal(await send('POST', contacts, [bearer(), ...nameless], '{}'), 'HEADERS_TOO_LARGE');
  });

  it('417: an unknown expectation', async () => {
    expectRefusal(await send('POST', login, ['Expect: x'], '{}'), 'EXPECTATION_FAILED');
  });

  it('100 and then the answer: Expect: 100-continue', async () => {
    const connection = await openConnection(port);
    connection.send(
      `POST ${login} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n`,
    );
    expect((await connection.next()).status).toBe(100);
    connection.send('{}');
    expectRefusal(await connection.next(), 'VALIDATION_ERROR');
    expect(await connection.rest()).toEqual([]);
  });
});

describe('methods', () => {
  it.each(['OPTIONS', 'TRACE', 'DELETE', 'PUT'])('405 with Allow: %s', async (method) => {
    const answer = await send(method, health);
    expectRefusal(answer, 'METHOD_NOT_ALLOWED');
    expect(answer.headers.allow).toBe('GET, HEAD');
  });

  it('405 names every method of the path', async () => {
    expect((await send('PUT', contacts)).headers.allow).toBe('GET, HEAD, POST');
    expect((await send('PUT', `${contacts}/x`)).headers.allow).toBe('GET, HEAD, PATCH, DELETE');
    expect((await send('GET', login)).headers.allow).toBe('POST');
  });

  it('404: every method on an unknown path, including methods of other protocols', async () => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK', 'M-SEARCH'])
      expectRefusal(await send(method, '/nothing'), 'NOT_FOUND');
    for (const target of ['http://other.test/nothing', '*', '//', '/api//v1', '/./api']) {
      expectRefusal(await send('GET', target), 'NOT_FOUND');
    }
  });

  it('404 or 405: PROPFIND on a known path', async () => {
    const answer = await send('PROPFIND', contacts);
    expectSafeHeaders(answer);
    expect([404, 405]).toContain(answer.status);
  });

  it('HEAD returns the headers of GET without a body', async () => {
    const connection = await openConnection(port);
    connection.send(request('HEAD', health));
    const answer = await connection.next({ isHead: true });
    expect(answer.status).toBe(200);
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(50);
    expectSafeHeaders(answer);
    expect(await connection.rest()).toEqual([]);
    const refused = await openConnection(port);
    refused.send(request('HEAD', contacts));
    expect((await refused.next({ isHead: true })).status).toBe(401);
    expect(await refused.rest()).toEqual([]);
  });

  it('a trailing slash makes no difference', async () => {
    for (const path of [health, contacts, login, `${contacts}/42`]) {
      const [bare, slashed] = [await send('GET', path, [bearer()]), await send('GET', `${path}/`, [bearer()])];
      expect(slashed.status).toBe(bare.status);
    }
  });

  it('the path is not decoded twice and not normalised', async () => {
    expectRefusal(await send('GET', `${contacts}/..%2f..%2fusers`, [bearer()]), 'VALIDATION_ERROR');
    expectRefusal(await send('GET', `${contacts}/../users`, [bearer()]), 'NOT_FOUND');
    expectRefusal(await send('GET', `${contacts}/%252e`, [bearer()]), 'VALIDATION_ERROR');
  });
});

describe('every answer', () => {
  it('has the security headers, for every status', async () => {
    const token = bearer();
    const answers = [
      await send('GET', health),
      await send('GET', contacts, [token]),
      await send('POST', contacts, [token], '{}'),
      await send('GET', contacts),
      await send('GET', `${contacts}/42`, [token]),
      await send('POST', contacts, [token], '{'),
      await send('POST', contacts, [token, 'Content-Type: text/plain', 'Content-Length: 0']),
      await send('GET', '/nothing'),
      await send('PUT', health),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 201, 401, 400, 400, 415, 404, 405]);
    for (const answer of answers) expectSafeHeaders(answer);
  });

  it('401 has WWW-Authenticate', async () => {
    const answer = await send('GET', contacts);
    expectRefusal(answer, 'AUTHENTICATION_ERROR');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it('413: a body larger than the limit, announced or not', async () => {
    const large = `"${'x'.repeat(1_100_000)}"`;
    expectRefusal(await send('POST', login, [], large), 'PAYLOAD_TOO_LARGE');
    const chunk = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`;
    const headers = ['Transfer-Encoding: chunked', 'Content-Type: application/json'];
    const [answer] = await exchange(port, `${request('POST', login, headers)}${chunk}`);
    expectRefusal(answer!, 'PAYLOAD_TOO_LARGE');
  });

  it.each([
    ['utf-8', 400],
    ['UTF-8', 400],
    ['utf8', 400],
    ['"utf-8"', 400],
    ['utf-16', 415],
    ['iso-8859-1', 415],
    ['us-ascii', 415],
    ['""', 415],
    ['utf-8; charset=utf-16', 415],
    ['utf-16; charset=utf-8', 415],
  ])('a body that says charset=%s: %i', async (charset, status) => {
    const headers = [`Content-Type: application/json; charset=${charset}`, 'Content-Length: 2'];
    const [answer] = await exchange(port, `${request('POST', login, headers)}{}`);
    expectRefusal(answer!, status === 400 ? 'VALIDATION_ERROR' : 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each([
    ['gzip', 'UNSUPPORTED_MEDIA_TYPE'],
    ['br, gzip', 'UNSUPPORTED_MEDIA_TYPE'],
    ['Identity', 'VALIDATION_ERROR'],
  ] as const)('a body that says Content-Encoding: %s', async (encoding, code) => {
    expectRefusal(await send('POST', login, [`Content-Encoding: ${encoding}`], '{}'), code);
  });

  it('has a request id of the service, not of the client', async () => {
    const answer = await send('GET', health, ['X-Request-Id: chosen-by-client', 'Request-Id: chosen-by-client']);
    expect(answer.headers['x-request-id']).not.toContain('chosen');
  });
});

describe('CORS', () => {
  const origin = 'https://app.example.com';
  const preflight = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization'];

  it('is off unless configured', async () => {
    const answer = await send('GET', health, [`Origin: ${origin}`]);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expectRefusal(await send('OPTIONS', contacts, [`Origin: ${origin}`, ...preflight]), 'METHOD_NOT_ALLOWED');
  });

  it('admits exactly the configured origins', async () => {
    const edge = await open({ corsOrigins: [origin, 'https://second.example.com'] });
    const ask = async (method: string, from: string, headers: string[] = []) =>
      (await exchange(edge.port, request(method, contacts, [`Origin: ${from}`, ...headers])))[0]!;
    const allowed = await ask('OPTIONS', origin, preflight);
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expectSafeHeaders(allowed);
    expect((await ask('GET', origin)).headers['access-control-allow-origin']).toBe(origin);
    for (const other of [
      'https://app.example.com.evil.test',
      'http://app.example.com',
      'null',
      'https://APP.example.com',
      '*',
    ]) {
      for (const answer of [await ask('OPTIONS', other, preflight), await ask('GET', other)]) {
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      }
    }
    const [bare] = await exchange(edge.port, request('OPTIONS', contacts));
    expect(bare!.status).toBe(204);
    expectSafeHeaders(bare!);
  });
});

describe('the address of the caller', () => {
  const forwarded = 'X-Forwarded-For: 203.0.113.7, 2001:DB8::0001';

  /** The address that the service recorded for a login. */
  async function recordedAddress(trustedProxies: string[], headers: string[]): Promise<string> {
    const edge = await open({ trustedProxies });
    const owner = await createTenant(test);
    const body = JSON.stringify({ email: owner.admin.email, password: owner.admin.password });
    const [answer] = await exchange(edge.port, request('POST', login, headers, body));
    const { accessToken } = JSON.parse(answer!.body) as { accessToken: string };
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: accessToken });
    return sessions.body.data.find((session: { current: boolean }) => session.current).ip_address;
  }

  it('is that of the socket and ignores forwarded headers', async () => {
    expect(await recordedAddress([], [forwarded, 'Forwarded: for=203.0.113.7', 'X-Real-IP: 203.0.113.7'])).toBe(
      '127.0.0.1',
    );
    expect(await recordedAddress(['10.0.0.0/8'], [forwarded])).toBe('127.0.0.1');
  });

  it('is the one before the trusted proxies, in its canonical form', async () => {
    expect(await recordedAddress(['127.0.0.1'], [forwarded])).toBe('2001:db8::1');
    expect(await recordedAddress(['127.0.0.1', '2001:db8::/32'], [forwarded])).toBe('203.0.113.7');
    for (const [written, recorded] of [
      ['203.0.113.7:1234', '203.0.113.7'],
      ['[2001:DB8::0001]:1234', '2001:db8::1'],
      ['[::ffff:203.0.113.7]:99', '203.0.113.7'],
      ['unknown:99', '127.0.0.1'],
    ])
      expect(await recordedAddress(['127.0.0.1'], [`X-Forwarded-For: ${written}`])).toBe(recorded);
    expect(await recordedAddress(['127.0.0.0/8'], ['X-Forwarded-For: ::FFFF:203.0.113.9'])).toBe('203.0.113.9');
  });

  it('is that of the proxy if it forwards an invalid address', async () => {
    for (const nonsense of ['unknown', 'a'.repeat(300), '1.2.3.4:port', '1.2.3.4.5:80', '\u00ff', ''])
      expect(await recordedAddress(['127.0.0.1'], [`X-Forwarded-For: ${nonsense}`])).toBe('127.0.0.1');
  });
});

describe('one connection, several requests', () => {
  it('answers pipelined requests in order', async () => {
    const connection = await openConnection(port);
    const body = JSON.stringify({ email: tenant.admin.email, password: 'not the password' });
    const paths: [string, string, number, string][] = [
      ['POST', login, 401, body],
      ['GET', health, 200, ''],
      ['GET', '/nothing', 404, ''],
      ['GET', contacts, 401, ''],
    ];
    connection.send(paths.map(([method, path, , text]) => keepAlive(method, path, text)).join(''));
    for (const [, , status] of paths) expect((await connection.next()).status).toBe(status);
    connection.destroy();
  });

  it('continues after refusals, also of requests with an unread body', async () => {
    const connection = await openConnection(port);
    for (const [method, path, text, status] of [
      ['POST', contacts, '{"firstName":"Ada"}', 401],
      ['GET', '/nothing', '', 404],
      ['PUT', health, '{}', 405],
      ['POST', login, '{}', 400],
      ['GET', health, '', 200],
    ] as const) {
      connection.send(keepAlive(method, path, text));
      expect((await connection.next()).status).toBe(status);
    }
    connection.destroy();
  });

  it('answers the requests before invalid bytes first, then refuses and closes', async () => {
    const body = JSON.stringify({ email: tenant.admin.email, password: 'not the password' });
    const connection = await openConnection(port);
    connection.send(`${keepAlive('POST', login, body)}NONSENSE\r\n\r\n`);
    const answers = await connection.rest();
    expect(answers.map((answer) => answer.status)).toEqual([401, 400]);
    expectRefusal(answers[0]!, 'AUTHENTICATION_ERROR');
    expectRefusal(answers[1]!, 'BAD_REQUEST');
  });

  it('a session works over the wire', async () => {
    const { email, password } = tenant.admin;
    const person = await logIn(test, { email, password });
    const answer = await send('GET', '/api/v1/auth/me', [`Authorization: bearer ${person.token}`]);
    expect(JSON.parse(answer.body)).toMatchObject({ data: { email } });
  });
});

function keepAlive(method: string, path: string, body: string): string {
  return request(method, path, [], body).replace('Connection: close\r\n', '');
}
