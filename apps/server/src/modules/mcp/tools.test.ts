import Type from 'typebox';
import { describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { access } from '#core/base/access/access';
import { closed, nullable } from '#core/base/schemas';
import { FileContent } from '#core/http/downloads';
import { defineModule, defineRoute, type RouteDefinition } from '#core/http/route';
import type { Toolset } from '#core/http/tool';
import { toCatalog } from '#modules/mcp/catalog';
import { listTools } from '#modules/mcp/tools';
import { defaultToolsets, toolsets } from '#modules/mcp/toolsets';

const tools = listTools(modules);
const definitions = tools.map(({ definition }) => definition);

describe('the tools', () => {
  it('have unique names that every client can use, and titles and descriptions', () => {
    expect(new Set(definitions.map(({ name }) => name)).size).toBe(definitions.length);
    for (const { name, title, description } of definitions) {
      expect(name).toMatch(/^[a-z][a-z0-9_]{2,63}$/);
      expect(title).toMatch(/^[A-Z][a-z0-9 ]+$/);
      expect(description.length).toBeGreaterThan(15);
      expect(description).toMatch(/\.$/);
    }
  });

  it('have all four hints, without contradictions', () => {
    for (const { annotations } of definitions) {
      const { title, ...hints } = annotations;
      expect(title).toEqual(expect.any(String));
      expect(Object.values(hints).map((hint) => typeof hint)).toEqual(['boolean', 'boolean', 'boolean', 'boolean']);
      if (hints.readOnlyHint) expect(hints).toMatchObject({ destructiveHint: false, idempotentHint: true });
    }
    const deleting = definitions.filter(({ name }) => name.startsWith('delete_') || name.startsWith('remove_'));
    expect(deleting.length).toBeGreaterThan(5);
    const replacing = definitions.filter(({ name }) => /^add_.*_contact$/.test(name));
    expect(replacing).toHaveLength(3);
    for (const { annotations } of [...deleting, ...replacing]) expect(annotations.destructiveHint).toBe(true);
  });

  it('take closed objects and answer objects', () => {
    for (const { inputSchema, outputSchema } of definitions) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      if (outputSchema !== undefined) expect(outputSchema.type).toBe('object');
    }
    expect(JSON.stringify(definitions)).not.toMatch(/"x-|"~|"format":"(line|time-zone|local-date-time)"/);
  });

  it('are at most 30 by default, every toolset has tools, and they are listed in its order', () => {
    expect(tools.filter(({ toolset }) => defaultToolsets.has(toolset)).length).toBeLessThanOrEqual(30);
    const names = Object.keys(toolsets) as Toolset[];
    expect([...new Set(tools.map(({ toolset }) => toolset))]).toEqual(names);
  });

  it('never agree to anything for a user', () => {
    expect(definitions.map(({ name }) => name)).toContain('list_pending_flow_tasks');
    expect(definitions.filter(({ name }) => /^(complete|skip|accept)_/.test(name))).toEqual([]);
  });

  it('return no secrets, administer nothing, and do not log in', () => {
    const closedOnes =
      /^\/api\/v1\/(public|auth|system\/(?!health|info))|two-factor|2fa|api-keys|app-accounts|identity-providers|ai\/providers|\/content$|avatar/;
    for (const { route } of tools) expect(route.path).not.toMatch(closedOnes);
    for (const { route } of tools) expect(['systemAdmin', 'dispatcher', 'optional']).not.toContain(route.access.kind);
  });

  it('are in the catalog, with public tools separate', () => {
    const catalog = toCatalog(modules);
    expect(catalog.public.map(({ name }) => name)).toEqual(['get_health', 'get_system_info']);
    expect(catalog.public.length + catalog.authenticated.length).toBe(tools.length);
    expect(catalog.toolsets.filter(({ isDefault }) => isDefault)).toHaveLength(defaultToolsets.size);
  });
});

describe('listTools', () => {
  const toolOf = (definition: Partial<Omit<RouteDefinition, 'method' | 'tool'>>) => {
    const route = defineRoute({
      method: 'POST',
      path: '/things/{id}',
      operationId: 'changeThing',
      summary: 'Change a thing',
      access: access.member(),
      schema: { params: closed({ id: Type.String() }), response: { 200: closed({ done: Type.Boolean() }) } },
      audit: 'thing.changed',
      tool: { toolset: 'spaces', description: 'Changes a thing.', destructive: true },
      handler: () => undefined,
      ...definition,
    });
    return listTools([defineModule({ name: 'things', description: 'Things', routes: [route] })])[0]!;
  };
  const response = { 200: closed({ done: Type.Boolean() }) };

  it('makes one flat object of all parts of a request', () => {
    const { definition, parts } = toolOf({
      schema: {
        params: closed({ id: Type.String() }),
        query: Type.Object({ language: Type.Optional(Type.String()) }),
        body: closed({ name: Type.String(), note: Type.Optional(nullable(Type.String({ format: 'line' }))) }),
        response,
      },
    });
    expect(definition.inputSchema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        language: { type: 'string' },
        name: { type: 'string' },
        note: { type: ['string', 'null'] },
      },
      required: ['id', 'name'],
      additionalProperties: false,
    });
    expect([...parts]).toEqual([
      ['id', 'params'],
      ['language', 'query'],
      ['name', 'body'],
      ['note', 'body'],
    ]);
  });

  it('requires nothing of an optional body', () => {
    const body = nullable(closed({ version: Type.String() }));
    const { definition } = toolOf({ schema: { body, response } });
    expect(definition.inputSchema).toEqual({
      type: 'object',
      properties: { version: { type: 'string' } },
      additionalProperties: false,
    });
  });

  it.each<[string, Parameters<typeof toolOf>[0]]>([
    [
      'duplicate arguments',
      {
        schema: {
          params: closed({ id: Type.String() }),
          body: closed({ id: Type.String(), x: Type.String() }),
          response,
        },
      },
    ],
    ['a body that is not an object', { schema: { body: Type.Array(Type.String()), response } }],
    ['a form', { schema: { form: closed({}), response } }],
    ['an upload', { schema: { upload: ['*/*'], response } }],
    ['a download', { schema: { response: { 200: FileContent } } }],
    ['a redirect', { schema: { response: { 302: null } } }],
    ['a page', { contentTypes: ['text/html'] }],
    ['system administration', { access: access.systemAdmin() }],
    ['the dispatcher', { access: access.dispatcher() }],
  ])('throws: %s', (_what, definition) => {
    expect(() => toolOf(definition)).toThrow('changeThing');
  });
});
