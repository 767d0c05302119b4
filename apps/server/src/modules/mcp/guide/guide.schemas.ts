import Type, { type Static } from 'typebox';

import { closed, dataOf } from '#core/base/schemas';

const texts = (description: string) => Type.Array(Type.String(), { description });
const endpoint = Type.String({ format: 'uri', description: 'Address of the MCP endpoint.' });
const purpose = Type.String({ description: 'What the group contains.' });

/** Tools and prompts of the server, and which tool to call first (specification, "System and MCP"). */
export const McpInfo = closed(
  {
    protocol: Type.String({ description: 'Name of the protocol.' }),
    specVersion: Type.String({ description: 'Latest supported revision of the protocol.' }),
    endpoint,
    transport: Type.String({ description: 'Transport of the protocol.' }),
    serverName: Type.String({ description: 'Name of the server.' }),
    instructionsSummary: Type.String({ description: 'Instructions that the server gives to models.' }),
    triage: closed(
      {
        description: purpose,
        steps: texts('Steps from a request of the user to the right tool.'),
        patterns: Type.Array(
          closed({
            intent: Type.String({ description: 'Goal of the user.' }),
            firstTools: texts('Tools to call first.'),
            thenTools: texts('Tools to call afterwards.'),
            notes: Type.String({ description: 'Hints for these tools.' }),
          }),
          { description: 'Tools by goal of the user.' },
        ),
      },
      { description: 'Guide to the right tool.' },
    ),
    prompts: closed(
      {
        public: closed(
          {
            description: purpose,
            prompts: Type.Array(
              closed({
                name: Type.String({ description: 'Name of the prompt in the protocol.' }),
                title: Type.String({ description: 'Name of the prompt in menus.' }),
                description: Type.String({ description: 'What the prompt does.' }),
              }),
              { description: 'Prompts, in the order of the menu.' },
            ),
          },
          { description: 'Prompts that every caller sees.' },
        ),
      },
      { description: 'Prompts by required credentials.' },
    ),
    tools: closed(
      {
        public: closed(
          { description: purpose, tools: texts('Names of the tools.') },
          { description: 'Tools that need no credentials.' },
        ),
        authenticated: closed(
          { description: purpose, tools: texts('Names of the tools.') },
          { description: 'Tools that need credentials.' },
        ),
      },
      { description: 'Tools by required credentials.' },
    ),
  },
  { title: 'McpInfo' },
);
export type McpInfo = Static<typeof McpInfo>;

const McpClient = closed(
  {
    id: Type.String({ description: 'Short name of the client, used in addresses.' }),
    name: Type.String({ description: 'Name of the client.' }),
    place: Type.String({ description: 'File or menu that takes the configuration.' }),
    language: Type.Enum(['sh', 'json', 'toml'], { description: 'Language of the configuration.' }),
    config: Type.String({ description: 'Configuration; replace YOUR_API_KEY with an API key.' }),
    note: Type.String({ description: 'Hint for this client.' }),
  },
  { title: 'McpClient' },
);
export type McpClient = Static<typeof McpClient>;

export const McpSetup = dataOf(
  closed(
    {
      steps: texts('Steps to connect a client.'),
      clients: Type.Array(McpClient, { description: 'Configurations of known clients.' }),
      endpoint,
    },
    { title: 'McpSetup' },
  ),
);
export type McpSetup = Static<typeof McpSetup>['data'];
