import vm from 'node:vm';
import { describe, expect, it } from 'vitest';

import { setupScript } from '#modules/mcp/guide/setup-page';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
// Characters that are valid in an address and special in HTML.
const behindProxy = useService({ environment: { PUBLIC_URL: "http://atrium.example.com/it's&more/" } });

const read = (accept?: string) => test.call('GET', '/mcp/setup', accept === undefined ? {} : { headers: { accept } });
const readPage = () => read('text/html');
const nonceOf = (policy: string | undefined) => /'nonce-([\w-]+)'/.exec(policy ?? '')?.[1];
const setupOf = async (service = test) => (await service.call('GET', '/mcp/setup')).body.data;

describe('getMcpSetup', () => {
  it.each([
    [undefined, 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['application/json', 'application/json; charset=utf-8'],
    ['image/png', 'application/json; charset=utf-8'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['text/markdown', 'text/markdown; charset=utf-8'],
    ['text/html;q=0.5, text/markdown;q=0.6', 'text/markdown; charset=utf-8'],
  ])('200: to those who accept %s it is %s', async (accept, type) => {
    const answer = await read(accept);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.headers['vary']).toBe('Accept');
  });

  it('200: JSON has only steps, clients and the endpoint', async () => {
    const { body } = await read();
    expect(body).toEqual({
      data: { steps: expect.any(Array), clients: expect.any(Array), endpoint: expect.stringMatching(/^http.*\/mcp$/) },
    });
    expect(body.data.steps).toHaveLength(5);
    const names = ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex', 'Gemini CLI', 'Other'];
    expect(body.data.clients.map(({ name }: { name: string }) => name)).toEqual(names);
  });

  it('200: all three formats have the same content', async () => {
    const { steps, clients, endpoint } = await setupOf();
    const markdown = (await read('text/markdown')).text;
    const page = (await readPage()).text;
    for (const text of [...steps, endpoint]) expect(markdown).toContain(text);
    for (const { name, config } of clients) {
      expect(markdown).toContain(`### ${name}\n`);
      expect(markdown).toContain(config);
      expect(page).toContain(config.replaceAll('"', '&#34;').replaceAll("'", '&#39;'));
    }
  });

  it('HEAD: the same without a body', async () => {
    const answer = await test.raw({ method: 'HEAD', url: '/mcp/setup', headers: { accept: 'text/html' } });
    expect({ status: answer.statusCode, body: answer.body }).toEqual({ status: 200, body: '' });
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', vary: 'Accept' });
  });
});

describe('the configurations', () => {
  it('are valid for the clients, with the address and the placeholder of the key', async () => {
    const { clients, endpoint } = await setupOf();
    const configs = Object.fromEntries(clients.map(({ id, config }: { id: string; config: string }) => [id, config]));
    const headers = { 'X-API-Key': 'YOUR_API_KEY' };
    expect(JSON.parse(configs['cursor'])).toEqual({ mcpServers: { atrium: { url: endpoint, headers } } });
    expect(JSON.parse(configs['gemini-cli'])).toEqual({ mcpServers: { atrium: { httpUrl: endpoint, headers } } });
    expect(JSON.parse(configs['other'])).toEqual({ mcpServers: { atrium: { type: 'http', url: endpoint, headers } } });
    expect(JSON.parse(configs['vs-code'])).toEqual({
      inputs: [{ type: 'promptString', id: 'atrium-api-key', description: 'Atrium API key', password: true }],
      servers: { atrium: { type: 'http', url: endpoint, headers: { 'X-API-Key': '${input:atrium-api-key}' } } },
    });
    const { command, args, env } = JSON.parse(configs['claude-desktop']).mcpServers.atrium;
    expect(command).toBe('npx');
    expect(args).toEqual(expect.arrayContaining(['mcp-remote', endpoint, 'X-API-Key:${ATRIUM_API_KEY}']));
    expect(args).not.toContain('--allow-http');
    expect(env).toEqual({ ATRIUM_API_KEY: 'YOUR_API_KEY' });
    expect(configs['claude-code']).toBe(
      `claude mcp add --transport http --scope user atrium "${endpoint}" --header "X-API-Key: YOUR_API_KEY"`,
    );
    expect(configs['codex']).toBe(
      `[mcp_servers.atrium]\nurl = "${endpoint}"\nhttp_headers = { "X-API-Key" = "YOUR_API_KEY" }`,
    );
  });

  it('name the address that clients use, with any characters', async () => {
    const endpoint = "http://atrium.example.com/it's&more/mcp";
    const { clients, ...setup } = await setupOf(behindProxy);
    expect(setup.endpoint).toBe(endpoint);
    for (const { config } of clients) expect(config).toContain(endpoint);
    // Without TLS the bridge needs an explicit option.
    const desktop = clients.find(({ id }: { id: string }) => id === 'claude-desktop');
    expect(JSON.parse(desktop.config).mcpServers.atrium.args).toContain('--allow-http');
    const page = (await behindProxy.call('GET', '/mcp/setup', { headers: { accept: 'text/html' } })).text;
    expect(page).not.toContain("it's");
    expect(page).toContain('data-endpoint="http://atrium.example.com/it&#39;s&#38;more/mcp"');
  });
});

describe('the page', () => {
  it('runs only its own script and style, and calls only this service', async () => {
    const page = await readPage();
    const policy = page.headers['content-security-policy']!;
    const nonce = nonceOf(policy)!;
    expect(nonce).toMatch(/^[\w-]{43}$/);
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    const tags = [...page.text.matchAll(/<(?:script|style)\b[^>]*>/g)].map(([tag]) => tag);
    expect(tags).toEqual([`<style nonce="${nonce}">`, `<script type="module" nonce="${nonce}">`]);
    expect(nonceOf((await readPage()).headers['content-security-policy'])).not.toBe(nonce);
  });

  it('has no script or style in attributes, and loads nothing', async () => {
    const { text } = await readPage();
    const markup = text.replaceAll(/<(script|style)\b[^>]*>[^]*?<\/\1>/g, '');
    expect(markup).not.toMatch(/\son\w+=|\sstyle=|\ssrc=|javascript:|<(?:link|img|iframe|object|embed|base|form)\b/i);
    const { publicUrl } = test.service.services.settings;
    const links = [...markup.matchAll(/\shref="([^"]*)"/g)].map(([, link]) => link);
    expect(links).toEqual([`${publicUrl}/mcp/info`, `${publicUrl}/docs`]);
    expect(text).not.toMatch(/@import|url\(/);
  });

  it('has a valid script that never creates markup from text', () => {
    expect(() => new vm.Script(setupScript)).not.toThrow();
    expect(setupScript).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|<\/script/,
    );
  });

  it('sends the key in one place, and stores it nowhere', () => {
    expect(setupScript.match(/\bfetch\(/g)).toHaveLength(1);
    expect(setupScript).toContain('fetch(here + query()');
    expect(setupScript).not.toMatch(
      /XMLHttpRequest|sendBeacon|WebSocket|EventSource|import\(|window\.open|location\.(?:href|assign)/,
    );
    expect(setupScript).not.toMatch(/localStorage|sessionStorage|indexedDB|cookie|history\./);
  });

  it('has every element that its script uses, and unique ids', async () => {
    const { text } = await readPage();
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = [...setupScript.matchAll(/find\('#([\w-]+)'\)/g)].map(([, id]) => id);
    expect(wanted.length).toBeGreaterThan(5);
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
    const named = [...text.matchAll(/aria-(?:labelledby|describedby|controls)="([^"]+)"/g)].flatMap(([, list]) =>
      list!.split(' '),
    );
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('shows no credential to any caller', async () => {
    const tenant = await createTenant(test);
    const { token } = tenant.admin;
    const { fullKey } = (await test.call('POST', '/api/v1/secure/api-keys', { token, body: { name: 'Door' } })).body;
    expect(fullKey).toMatch(/^svc_sk_/);
    const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]*"/g, '');
    for (const accept of ['text/html', 'text/markdown', 'application/json']) {
      const anonymous = withoutNonce((await read(accept)).text);
      const headers = { accept, 'x-api-key': fullKey };
      expect(withoutNonce((await test.call('GET', '/mcp/setup', { headers })).text)).toBe(anonymous);
      const asPerson = await test.call('GET', '/mcp/setup', { token, headers: { accept } });
      expect(withoutNonce(asPerson.text)).toBe(anonymous);
      expect(anonymous).not.toMatch(/svc_sk_[0-9a-f]|eyJ/);
    }
  });
});
