import type { Settings } from '#core/platform/services';
import {
  endpointPath,
  instructions,
  protocolVersions,
  serverName,
  type Catalog,
  type CatalogTool,
} from '#modules/mcp/catalog';
import type { McpInfo } from '#modules/mcp/guide/guide.schemas';
import { triage } from '#modules/mcp/guide/triage';
import { prompts } from '#modules/mcp/prompts';

/** Public address of the endpoint, independent of the address of this request. */
export function endpointOf({ publicUrl }: Settings): string {
  return `${publicUrl}${endpointPath}`;
}

export function describeServer(settings: Settings, catalog: Catalog): McpInfo {
  return {
    protocol: 'MCP',
    specVersion: protocolVersions[0],
    endpoint: endpointOf(settings),
    transport: 'streamable-http',
    serverName,
    instructionsSummary: instructions,
    triage,
    prompts: {
      public: {
        description: 'Available to every caller; the credential decides which tools they may call.',
        prompts: prompts.map(({ name, title, description }) => ({ name, title, description })),
      },
    },
    tools: {
      public: { description: 'Tools that need no credentials.', tools: namesOf(catalog.public) },
      authenticated: {
        description:
          'Tools that need an API key, an app account or a user, with the access of their operation. With a key, tools that change data also need its mcp_write_enabled.',
        tools: namesOf(catalog.authenticated),
      },
    },
  };
}

function namesOf(tools: readonly CatalogTool[]): string[] {
  return tools.map(({ name }) => name);
}
