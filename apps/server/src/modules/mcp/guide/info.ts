import type { Settings } from '#core/services';
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

/** Where clients reach the server, whatever address this question came to. */
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
        description: 'For everybody; what they call is up to the credential.',
        prompts: prompts.map(({ name, title, description }) => ({ name, title, description })),
      },
    },
    tools: {
      public: { description: 'Answer without credentials.', tools: namesOf(catalog.public) },
      authenticated: {
        description:
          'Need an API key, an app account or a person, and what the operation behind them asks for. Those that change something need mcp_write_enabled of a key.',
        tools: namesOf(catalog.authenticated),
      },
    },
  };
}

function namesOf(tools: readonly CatalogTool[]): string[] {
  return tools.map(({ name }) => name);
}
