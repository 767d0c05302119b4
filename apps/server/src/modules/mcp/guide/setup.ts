import type { Settings } from '#core/platform/services';
import { serverName, toolsetsParameter, type Catalog } from '#modules/mcp/catalog';
import { listClients } from '#modules/mcp/guide/configurations';
import type { McpSetup } from '#modules/mcp/guide/guide.schemas';
import { endpointOf } from '#modules/mcp/guide/info';

type Step = { id: 'key' | 'writing' | 'toolsets' | 'client' | 'test'; title: string; text: string };

/** Steps to a connected client; the texts use `code` as in Markdown. */
export function setupSteps({ toolsets }: Catalog): readonly Step[] {
  const left = toolsets.filter(({ isDefault }) => !isDefault).map(({ name }) => `\`${name}\``);
  return [
    {
      id: 'key',
      title: 'Get an API key',
      text: 'A user who may manage API keys creates one with `POST /api/v1/secure/api-keys`. The key is shown once. Its permissions decide which tools it gets; `?template=READ_ONLY` is a good start.',
    },
    {
      id: 'writing',
      title: 'Decide whether it may write',
      text: 'A key can only read. Tools that create, change or delete are neither listed nor run until a user sets `mcp_write_enabled` of the key to true. The permissions of the key still apply.',
    },
    {
      id: 'toolsets',
      title: 'Choose the toolsets',
      text: `Assistants work better with few tools. The default is all toolsets except ${left.join(', ')}; \`?${toolsetsParameter}=spaces,calendar\` in the address selects only these, \`?${toolsetsParameter}=all\` everything.`,
    },
    {
      id: 'client',
      title: 'Configure the client',
      text: 'The client needs the address, the transport Streamable HTTP, and the key in the header `X-API-Key`. No login window opens, because the key is the only credential.',
    },
    {
      id: 'test',
      title: 'Test it',
      text: 'Request the list of tools with `tools/list`, as every client does first.',
    },
  ];
}

export function describeSetup(settings: Settings, catalog: Catalog): McpSetup {
  const endpoint = endpointOf(settings);
  return {
    steps: setupSteps(catalog).map(({ title, text }) => `${title}. ${text}`),
    clients: listClients({ name: serverName, endpoint }),
    endpoint,
  };
}

/** The same steps as Markdown, for models and terminals. */
export function toMarkdown({ steps, clients, endpoint }: McpSetup): string {
  const numbered = steps.map((step, at) => `${at + 1}. ${step}`);
  const configurations = clients.map(
    ({ name, place, language, config, note }) =>
      `### ${name}\n\n${place}:\n\n\`\`\`${language}\n${config}\n\`\`\`\n\n${note}`,
  );
  return [
    '# Connect an assistant to Atrium',
    `The endpoint is \`${endpoint}\`. Its tools and prompts are listed in \`${endpoint}/info\`.`,
    numbered.join('\n'),
    '## Clients',
    ...configurations,
    '',
  ].join('\n\n');
}
