import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { formats } from '#core/http/formats';
import { nominatimFake } from '#modules/connectors/geocoding/adapters/nominatim/testing/fake';
import { createConnector } from '#modules/connectors/testing/connectors';
import { serveProvider } from '#modules/connectors/testing/provider-server';
import { callTool } from '#modules/mcp/testing/connections';
import { listTools } from '#modules/mcp/tools';
import { createTenantOf, environment } from '#modules/translation/testing/tenants';
import { provideTranslator } from '#modules/translation/testing/translator';
import { listTables, withClient } from '#test/support/database';
import { createMember, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { missingSamples, sampleContext, sampleTools } from '#test/support/samples';

const test = useService({ environment, ownDatabase: true });
const tools = listTools(modules);
let tenant: Tenant;
let samples: ReturnType<typeof sampleTools>;
const all = { 'x-mcp-toolsets': 'all' };
const byAdmin = () => ({ ...all, authorization: `Bearer ${tenant.admin.token}` });

beforeAll(async () => {
  tenant = await createTenantOf(test);
  samples = sampleTools(sampleContext(test, tenant));
});

/** Tables that every call may change: the audit trail, and counts of requests, rows and providers. */
const traces = new Set([
  'audit_logs',
  'audit_chains',
  'security_events',
  'application_logs',
  'log_hours',
  'request_minutes',
  'tenant_request_hours',
  'error_hours',
  'provider_calls',
  'provider_call_hours',
  'row_counts',
  'connectors',
  'connector_events',
  'rate_limits',
]);

/** The rows of each table. */
type Content = Record<string, readonly string[]>;

function contentOf(): Promise<Content> {
  return withClient(test.connection, async (client) => {
    const found: Content = {};
    for (const table of await listTables(client)) {
      if (traces.has(table)) continue;
      // Derived columns and write times are not content.
      const row = `(to_jsonb(t) - '{updated_at,translated_at,usage_count}'::text[])::text`;
      const { rows } = await client.query<{ row: string }>(`select ${row} as row from ${table} t order by 1`);
      found[table] = rows.map((one) => one.row);
    }
    return found;
  });
}

/** Rows that were deleted or changed. */
function lost(before: Content, after: Content): string[] {
  return Object.entries(before).flatMap(([table, rows]) => {
    const kept = new Set(after[table]);
    return rows.filter((row) => !kept.has(row)).map((row) => `${table} ${row}`);
  });
}

function changed(before: Content, after: Content): string[] {
  return [...lost(before, after), ...lost(after, before)];
}

/** A provider for tools that call outside services. */
async function provide(toolset: string): Promise<void> {
  if (toolset === 'translation') await provideTranslator(test, tenant);
  if (toolset !== 'geo') return;
  const provider = await serveProvider(nominatimFake.respond);
  await createConnector(test, tenant.admin.token, {
    category: 'integration',
    api_base_url: `${provider.origin}${nominatimFake.basePath}`,
    config: { adapter: 'nominatim', ...nominatimFake.config },
  });
}

it('knows arguments for every tool', () => {
  expect(
    missingSamples(
      'tools',
      Object.keys(samples),
      tools.map(({ route }) => route.operationId),
    ),
  ).toEqual([]);
});

describe.each(tools.map((tool) => [tool.definition.name, tool] as const))(
  '%s',
  (name, { definition, toolset, route }) => {
    const { inputSchema, outputSchema, annotations } = definition;
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, formats });

    it('takes its input schema and answers its output schema', async () => {
      await provide(toolset);
      const given = await samples[route.operationId]!();
      const takes = ajv.compile(inputSchema);
      expect({ takes: takes(given), errors: takes.errors }).toEqual({ takes: true, errors: null });
      const result = await callTool(test, name, given, byAdmin());
      expect(result).not.toHaveProperty('isError');
      if (outputSchema === undefined) expect(result).toMatchObject({ content: [{ type: 'text', text: 'Done.' }] });
      else {
        const fits = ajv.compile(outputSchema);
        expect({ fits: fits(result.structuredContent), errors: fits.errors }).toEqual({ fits: true, errors: null });
        expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent);
      }
    });

    it.runIf(annotations.readOnlyHint)('changes nothing, as it says', async () => {
      await provide(toolset);
      const given = await samples[route.operationId]!();
      const before = await contentOf();
      await callTool(test, name, given, byAdmin());
      expect(changed(before, await contentOf())).toEqual([]);
    });

    it.runIf(!annotations.readOnlyHint && !annotations.destructiveHint)('loses nothing, as it says', async () => {
      await provide(toolset);
      const given = await samples[route.operationId]!();
      const before = await contentOf();
      expect(await callTool(test, name, given, byAdmin())).not.toHaveProperty('isError');
      expect(lost(before, await contentOf())).toEqual([]);
    });

    it.runIf(!annotations.readOnlyHint && annotations.idempotentHint)(
      'changes nothing more the second time, as its hint says',
      async () => {
        await provide(toolset);
        const given = await samples[route.operationId]!();
        await callTool(test, name, given, byAdmin());
        const before = await contentOf();
        await callTool(test, name, given, byAdmin());
        expect(changed(before, await contentOf())).toEqual([]);
      },
    );

    it('refuses an unknown argument, and names it', async () => {
      const given = { ...(await samples[route.operationId]!()), no_such_argument: 1 };
      const result = await callTool(test, name, given, byAdmin());
      expect(result.isError).toBe(true);
      expect(JSON.parse(result.content[0].text)).toMatchObject({
        error: 'VALIDATION_ERROR',
        statusCode: 400,
        message: expect.stringContaining('no_such_argument'),
      });
    });
  },
);

describe('the gate itself', () => {
  it('finds a tool that changes something', async () => {
    const before = await contentOf();
    await createMember(test, tenant);
    expect(changed(before, await contentOf())).not.toEqual([]);
  });

  it('finds a tool that removes from one record what it adds to another', async () => {
    const given = await samples['addSpaceContact']!();
    await callTool(test, 'add_space_contact', { ...given, isPrimary: true }, byAdmin());
    const { contactId } = await samples['addSpaceContact']!();
    const before = await contentOf();
    await callTool(test, 'add_space_contact', { ...given, contactId, isPrimary: true }, byAdmin());
    expect(lost(before, await contentOf())).toMatchObject([expect.stringContaining('contact_links')]);
  });
});
