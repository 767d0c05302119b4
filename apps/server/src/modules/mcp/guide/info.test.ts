import { describe, expect, it } from 'vitest';

import { protocolVersions } from '#modules/mcp/catalog';
import { createTenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();

const readInfo = async () => (await test.call('GET', '/mcp/info')).body;

/** The answer of the endpoint to an older client. */
async function ask(method: string, token?: string) {
  const body = { jsonrpc: '2.0', id: 1, method };
  const { body: answer } = await test.call('POST', '/mcp?toolsets=all', { token, body });
  return answer.result;
}

const namesOf = (list: { name: string }[]) => list.map(({ name }) => name);

describe('getMcpInfo', () => {
  it('200: exactly the fields of the specification', async () => {
    const answer = await test.call('GET', '/mcp/info');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const texts = expect.arrayContaining([expect.any(String)]);
    expect(answer.body).toEqual({
      protocol: 'MCP',
      specVersion: '2026-07-28',
      endpoint: `${test.service.services.settings.publicUrl}/mcp`,
      transport: 'streamable-http',
      serverName: 'atrium',
      instructionsSummary: expect.any(String),
      triage: { description: expect.any(String), steps: texts, patterns: expect.any(Array) },
      prompts: { public: { description: expect.any(String), prompts: expect.any(Array) } },
      tools: {
        public: { description: expect.any(String), tools: texts },
        authenticated: { description: expect.any(String), tools: texts },
      },
    });
    const { prompts, triage } = answer.body;
    expect(triage.patterns.length).toBeGreaterThan(5);
    expect(prompts.public.prompts.length).toBeGreaterThan(3);
    for (const pattern of triage.patterns)
      expect(pattern).toEqual({
        intent: expect.any(String),
        firstTools: texts,
        thenTools: texts,
        notes: expect.any(String),
      });
    for (const prompt of prompts.public.prompts)
      expect(prompt).toEqual({ name: expect.any(String), title: expect.any(String), description: expect.any(String) });
  });

  it('200: the tools are those of the endpoint, without credentials and with full access', async () => {
    const { tools } = await readInfo();
    expect(namesOf((await ask('tools/list')).tools)).toEqual(tools.public.tools);
    const tenant = await createTenant(test);
    const listed = namesOf((await ask('tools/list', tenant.admin.token)).tools);
    expect(new Set(listed)).toEqual(new Set([...tools.public.tools, ...tools.authenticated.tools]));
    expect(listed).toHaveLength(new Set(listed).size);
  });

  it('200: every tool of a pattern exists', async () => {
    const { tools, triage } = await readInfo();
    const known = new Set([...tools.public.tools, ...tools.authenticated.tools]);
    const named = triage.patterns.flatMap((pattern: any) => [...pattern.firstTools, ...pattern.thenTools]);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name: string) => !known.has(name))).toEqual([]);
  });

  it('200: prompts, instructions and revision are those of the endpoint', async () => {
    const info = await readInfo();
    expect(namesOf((await ask('prompts/list')).prompts)).toEqual(namesOf(info.prompts.public.prompts));
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: protocolVersions[1], capabilities: {}, clientInfo };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const { result } = (await test.call('POST', '/mcp', { body })).body;
    expect({ name: result.serverInfo.name, instructions: result.instructions }).toEqual({
      name: info.serverName,
      instructions: info.instructionsSummary,
    });
    expect(protocolVersions).toContain(info.specVersion);
  });

  it('HEAD: the same without a body', async () => {
    const answer = await test.raw({ method: 'HEAD', url: '/mcp/info' });
    expect({ status: answer.statusCode, body: answer.body }).toEqual({ status: 200, body: '' });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('405: other methods', async () => {
    const answer = await test.call('POST', '/mcp/info', { body: {} });
    expectError(answer, 405, 'METHOD_NOT_ALLOWED');
    expect(answer.headers['allow']).toBe('GET, HEAD');
  });
});
