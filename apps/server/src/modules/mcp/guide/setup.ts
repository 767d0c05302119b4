import type { Settings } from '#core/services';
import { serverName, toolsetsParameter, type Catalog } from '#modules/mcp/catalog';
import { listClients } from '#modules/mcp/guide/configurations';
import type { McpSetup } from '#modules/mcp/guide/guide.schemas';
import { endpointOf } from '#modules/mcp/guide/info';

type Step = { id: 'key' | 'writing' | 'toolsets' | 'client' | 'test'; title: string; text: string };

/** From nothing to a connected client; texts with `code` in them, as in Markdown. */
export function setupSteps({ toolsets }: Catalog): readonly Step[] {
  const left = toolsets.filter(({ isDefault }) => !isDefault).map(({ name }) => `\`${name}\``);
  return [
    {
      id: 'key',
      title: 'Get an API key',
      text: 'Somebody who may manage keys makes one with `POST /api/v1/secure/api-keys`; it is shown once. Its permissions decide which tools it gets: `?template=READ_ONLY` is a good start.',
    },
    {
      id: 'writing',
      title: 'Decide whether it may write',
      text: 'A key only reads. Tools that create, change or delete are neither listed nor run until somebody sets `mcp_write_enabled` of the key to true, and then as far as its permissions go.',
    },
    {
      id: 'toolsets',
      title: 'Choose the toolsets',
      text: `Assistants do better with few tools. Without a choice all are offered but ${left.join(', ')}; \`?${toolsetsParameter}=spaces,calendar\` on the address offers just those, \`?${toolsetsParameter}=all\` everything.`,
    },
    {
      id: 'client',
      title: 'Tell the client',
      text: 'It needs the address, the transport Streamable HTTP, and the key in the header `X-API-Key`. No sign-in window opens: the key is all there is.',
    },
    {
      id: 'test',
      title: 'Test it',
      text: 'Ask for the list of tools, as every client does first. The call is `tools/list`.',
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

/** The same for models and terminals. */
export function toMarkdown({ steps, clients, endpoint }: McpSetup): string {
  const numbered = steps.map((step, at) => `${at + 1}. ${step}`);
  const configurations = clients.map(
    ({ name, place, language, config, note }) =>
      `### ${name}\n\n${place}:\n\n\`\`\`${language}\n${config}\n\`\`\`\n\n${note}`,
  );
  return [
    '# Connect an assistant to Atrium',
    `The endpoint is \`${endpoint}\`. What it offers is in \`${endpoint}/info\`.`,
    numbered.join('\n'),
    '## Clients',
    ...configurations,
    '',
  ].join('\n\n');
}
