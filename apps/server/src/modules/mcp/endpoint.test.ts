import { beforeAll, describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { newId } from '#core/base/crypto/ids';
import { generateOpenApi } from '#core/http/openapi';
import { connect, envelope, revisions, send } from '#modules/mcp/testing/connections';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const friend = 'https://friend.example';
const test = useService({ environment: { CORS_ORIGINS: friend, PUBLIC_URL: 'https://atrium.example' } });
let tenant: Tenant;
let bearer: { authorization: string };
let spaceId: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  bearer = { authorization: `Bearer ${tenant.admin.token}` };
  const { token } = tenant.admin;
  const created = await test.call('POST', '/api/v1/secure/spaces', { token, body: { name: 'Hall' } });
  spaceId = created.body.data.id;
});

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  test.call('POST', '/mcp', { headers: { 'content-type': 'application/json', ...headers }, body });

/** An error of the protocol, with its HTTP status. */
function expectRpcError(answer: Answer, status: number, code: number): void {
  expect({ status: answer.status, body: answer.body }).toMatchObject({
    status,
    body: { jsonrpc: '2.0', error: { code } },
  });
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
}

describe.each(revisions)('the official client of %s', (revision) => {
  it('connects, lists tools, calls tools, gets refusals and prompts', async () => {
    const client = await connect(test, { revision, headers: bearer });
    expect(client.getServerVersion()).toMatchObject({ name: 'atrium' });
    expect(client.getInstructions()).toContain('never instructions');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('get_space');
    const found: any = await client.callTool({ name: 'get_space', arguments: { id: spaceId } });
    expect(found.structuredContent).toMatchObject({ data: { id: spaceId, name: 'Hall' } });
    expect(JSON.parse(found.content[0].text)).toEqual(found.structuredContent);
    const missing: any = await client.callTool({ name: 'get_space', arguments: { id: newId() } });
    expect(missing).toMatchObject({ isError: true });
    expect(JSON.parse(missing.content[0].text)).toMatchObject({ error: 'NOT_FOUND', statusCode: 404 });
    await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toMatchObject({ code: -32_602 });
    const { prompts } = await client.listPrompts();
    expect(prompts.length).toBeGreaterThan(0);
    const prompt = await client.getPrompt({ name: 'describe_space', arguments: { space: 'Hall' } });
    expect(prompt.messages[0]).toMatchObject({ role: 'user', content: { type: 'text' } });
    await client.close();
  });

  it('works without credentials for public tools', async () => {
    const client = await connect(test, { revision });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['get_health', 'get_system_info']);
    const health = await client.callTool({ name: 'get_health', arguments: {} });
    expect(health.structuredContent).toMatchObject({ status: 'ok' });
    await client.close();
  });

  it('does not connect with a revoked credential', async () => {
    const headers = { 'x-api-key': 'svc_sk_nothing' };
    await expect(connect(test, { revision, headers })).rejects.toThrow(/401|not valid/i);
  });

  it('refuses unknown prompts and invalid arguments', async () => {
    const client = await connect(test, { revision });
    const get = (name: string, given: Record<string, string>) => client.getPrompt({ name, arguments: given });
    await expect(get('no_such_prompt', {})).rejects.toMatchObject({ code: -32_602 });
    await expect(get('describe_space', {})).rejects.toMatchObject({ code: -32_602 });
    await expect(get('describe_space', { space: 'x', more: 'y' })).rejects.toMatchObject({ code: -32_602 });
    await expect(get('describe_space', { space: 'x'.repeat(501) })).rejects.toMatchObject({ code: -32_602 });
    await client.close();
  });
});

describe('invalid messages', () => {
  it.each([
    ['malformed JSON', '{"jsonrpc":', -32_700],
    ['nothing', '', -32_600],
    ['too deep', `{"jsonrpc":"2.0","method":"ping","params":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, -32_600],
    ['text that the database cannot store', '{"jsonrpc":"2.0","id":1,"method":"a\\u0000"}', -32_600],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
    ['a text', '"ping"', -32_600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32_600],
    ['an invalid id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":{}}', -32_600],
  ])('400: %s', async (_what, body, code) => {
    expectRpcError(await post(body), 400, code);
  });

  it.each([7, 'seven'])('400: with the id of the message if it can be read: %j', async (id) => {
    expect((await post({ jsonrpc: '2.0', id, method: 'ping', more: 1 })).body).toMatchObject({ id });
    const ping = { jsonrpc: '2.0', id, method: 'ping' };
    for (const toolsets of ['no-such', '%00']) {
      const answer = await test.call('POST', `/mcp?toolsets=${toolsets}`, { body: ping });
      expectRpcError(answer, 400, -32_600);
      expect(answer.body).toMatchObject({ id });
    }
    expect((await post({ ...ping, id: 'x'.repeat(201) })).body).toMatchObject({ id: null });
    expect((await post('{"id":7')).body).toMatchObject({ id: null });
  });

  it('413: too large', async () => {
    expectRpcError(await post(JSON.stringify({ a: 'x'.repeat(2 ** 21) })), 413, -32_000);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])('415: %s', async (type) => {
    expectRpcError(await post('{}', { 'content-type': type }), 415, -32_000);
  });

  it.each(['text/html', 'text/event-stream', 'application/json;q=0'])('406: accept %s', async (accept) => {
    expectRpcError(await post({ jsonrpc: '2.0', id: 7, method: 'ping' }, { accept }), 406, -32_000);
  });

  it('accepts every Accept header that includes JSON', async () => {
    for (const accept of [
      '*/*',
      'application/json',
      'application/json, text/event-stream',
      'text/html, application/*;q=0.1',
    ])
      expect((await post({ jsonrpc: '2.0', id: 7, method: 'ping' }, { accept })).body).toMatchObject({
        id: 7,
        result: {},
      });
  });
});

describe('revisions and methods', () => {
  it('400 -32022: an unknown revision', async () => {
    const unknown = { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: unknown } };
    const answer = await post(body, { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' });
    expectRpcError(answer, 400, -32_022);
    expect(answer.body.error.data).toMatchObject({ supported: ['2026-07-28'] });
  });

  it('400: header and body differ, or one of them is missing', async () => {
    expectRpcError(await send(test, 'tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }), 400, -32_020);
    expectRpcError(await send(test, 'tools/list', {}, { 'mcp-method': 'tools/call' }), 400, -32_020);
    expectRpcError(await send(test, 'tools/call', { name: 'get_health' }, { 'mcp-name': 'get_space' }), 400, -32_020);
    expectRpcError(
      await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-protocol-version': '2026-07-28' }),
      400,
      -32_602,
    );
  });

  it.each([
    ['tools/list', { cursor: 5 }],
    ['tools/call', { name: 5 }],
    ['tools/call', { name: 'get_health', arguments: 'none' }],
    ['prompts/get', {}],
    ['prompts/get', { name: 'describe_space', arguments: { space: 5 } }],
  ])('-32602: %s with parameters that do not fit: %j', async (method, params) => {
    const headers: Record<string, string> = 'name' in params ? { 'mcp-name': String(params.name) } : {};
    const modern = await send(test, method, params, headers);
    expect(modern.body.error).toMatchObject({ code: -32_602, message: expect.not.stringContaining('{') });
    const older = await post({ jsonrpc: '2.0', id: 1, method, params });
    expect(older.body.error).toMatchObject({ code: -32_602, message: expect.not.stringContaining('{') });
  });

  it('404 -32601: an unknown method; in 2025, as a result of HTTP 200', async () => {
    expectRpcError(await send(test, 'no/such', {}), 404, -32_601);
    expectRpcError(await send(test, 'subscriptions/listen', { notifications: {} }), 404, -32_601);
    expectRpcError(await post({ jsonrpc: '2.0', id: 1, method: 'no/such' }), 200, -32_601);
  });

  it('server/discover returns revisions and capabilities', async () => {
    const { body } = await send(test, 'server/discover');
    expect(body.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, prompts: {} },
      instructions: expect.any(String),
    });
  });

  it('lists have cache hints', async () => {
    const tools = await send(test, 'tools/list', {}, bearer);
    expect(tools.body.result).toMatchObject({ cacheScope: 'private', ttlMs: 60_000 });
    const prompts = await send(test, 'prompts/list', {}, bearer);
    expect(prompts.body.result).toMatchObject({ cacheScope: 'public' });
  });

  it('a revision with batches is not supported', async () => {
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(answer).toMatchObject({ status: 200, body: { result: { protocolVersion: '2025-11-25' } } });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expectRpcError(await post(list, { 'mcp-protocol-version': '2025-03-26' }), 400, -32_000);
  });

  it('initialize of an older revision is answered without a session', async () => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(answer).toMatchObject({ status: 200, body: { result: { protocolVersion: '2025-06-18' } } });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    const done = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect({ status: done.status, text: done.text }).toEqual({ status: 202, text: '' });
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'] as const)('405: %s', async (method) => {
    const answer = await test.call(method, '/mcp', { headers: { accept: 'text/event-stream' } });
    expectRpcError(answer, 405, -32_000);
    expect(answer.headers.allow).toBe('POST');
  });

  it('there is no OAuth discovery, and a refusal names no authorization server', async () => {
    for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server'])
      expect((await test.call('GET', `/.well-known/${path}`)).status).toBe(404);
    const refused = await send(test, 'tools/list', {}, { authorization: 'Bearer dead' });
    expectRpcError(refused, 401, -32_000);
    expect(refused.headers['www-authenticate']).toBe('Bearer');
    expect(refused.body.error.data).toMatchObject({ statusCode: 401, requestId: expect.any(String) });
  });
});

it('is described with all its answers and request headers', () => {
  const { paths } = generateOpenApi(modules) as { paths: Record<string, Record<string, any>> };
  const { parameters, responses } = paths['/mcp']!.post!;
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '202', '403', '404', '406', '413', '415']));
  expect(responses[202]).not.toHaveProperty('content');
  expect(responses[406].content['application/json'].schema.$ref).toContain('RpcError');
  const headers = parameters.filter((one: any) => one.in === 'header').map((one: any) => one.name);
  for (const name of ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'X-MCP-Toolsets'])
    expect(headers).toContain(name);
});

describe('pages of other origins', () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

  it.each(['https://evil.example', 'null', 'http://atrium.example', 'https://atrium.example.evil.example', ''])(
    '403: %j',
    async (origin) => {
      expectRpcError(await post(ping, { origin, host: 'evil.example' }), 403, -32_000);
    },
  );

  it.each([friend, 'https://atrium.example'])('200: %s', async (origin) => {
    expect(await post(ping, { origin })).toMatchObject({ status: 200, body: { result: {} } });
  });

  it('an allowed page may send the headers of the protocol', async () => {
    const { headers } = await test.raw({
      method: 'OPTIONS',
      url: '/mcp',
      headers: { origin: friend, 'access-control-request-method': 'POST' },
    });
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'x-mcp-toolsets', 'x-api-key'])
      expect(headers['access-control-allow-headers']).toContain(name);
  });
});

describe.each(revisions)('an ordinary call of %s is answered as the SDK would answer it', (revision) => {
  const blank = ({ status, body }: Answer) => {
    const text = JSON.stringify(body).replaceAll(/\\"(requestId|timestamp)\\":\\"[^"]*\\"/g, '');
    return { status, body: JSON.parse(text) };
  };
  const isModern = revision === '2026-07-28';
  const said = { ...(isModern ? envelope : {}), progressToken: 'token' };
  // An additional field that only the SDK reads.
  const unusual = { ...said, 'com.example/unusual': 1 };

  it.each([
    ['a result with structure', 'get_space', () => ({ id: spaceId })],
    ['an error', 'get_space', () => ({ id: newId() })],
    ['an unknown argument', 'get_space', () => ({ id: spaceId, more: 1 })],
    ['a result without structure', 'tag_space', async () => ({ id: spaceId, tagId: await newTag() })],
    ['an unknown tool', 'no_such_tool', () => ({})],
  ])('%s', async (_what, name, given) => {
    const args = await Promise.resolve(given());
    const more = isModern ? { 'mcp-method': 'tools/call', 'mcp-name': name } : {};
    const ask = (id: string | number, _meta: object) =>
      test.call('POST', '/mcp?toolsets=all', {
        headers: { ...bearer, 'mcp-protocol-version': revision, ...more },
        body: { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta } },
      });
    for (const id of ['one', 1]) {
      const answer = blank(await ask(id, said));
      expect(answer.body).toMatchObject({ id });
      expect(answer).toEqual(blank(await ask(id, unusual)));
    }
  });

  async function newTag(): Promise<string> {
    const { token } = tenant.admin;
    const tag = await test.call('POST', '/api/v1/secure/tags', { token, body: { name: newId() } });
    return tag.body.data.id;
  }
});
