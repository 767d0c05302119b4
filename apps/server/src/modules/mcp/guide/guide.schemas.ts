import Type, { type Static } from 'typebox';

import { closed, dataOf } from '#core/http/schemas';

const Texts = Type.Array(Type.String());

/** What the server offers to whom, and which tool to reach for first (specification, "System and MCP"). */
export const McpInfo = closed(
  {
    protocol: Type.String(),
    specVersion: Type.String(),
    endpoint: Type.String({ format: 'uri' }),
    transport: Type.String(),
    serverName: Type.String(),
    instructionsSummary: Type.String(),
    triage: closed({
      description: Type.String(),
      steps: Texts,
      patterns: Type.Array(
        closed({ intent: Type.String(), firstTools: Texts, thenTools: Texts, notes: Type.String() }),
      ),
    }),
    prompts: closed({
      public: closed({
        description: Type.String(),
        prompts: Type.Array(closed({ name: Type.String(), title: Type.String(), description: Type.String() })),
      }),
    }),
    tools: closed({
      public: closed({ description: Type.String(), tools: Texts }),
      authenticated: closed({ description: Type.String(), tools: Texts }),
    }),
  },
  { title: 'McpInfo' },
);
export type McpInfo = Static<typeof McpInfo>;

const McpClient = closed(
  {
    id: Type.String({ description: 'A short name, as in addresses' }),
    name: Type.String(),
    place: Type.String({ description: 'Where the configuration goes' }),
    language: Type.Enum(['sh', 'json', 'toml']),
    config: Type.String({ description: 'With YOUR_API_KEY where the key goes' }),
    note: Type.String(),
  },
  { title: 'McpClient' },
);
export type McpClient = Static<typeof McpClient>;

export const McpSetup = dataOf(
  closed(
    { steps: Texts, clients: Type.Array(McpClient), endpoint: Type.String({ format: 'uri' }) },
    { title: 'McpSetup' },
  ),
);
export type McpSetup = Static<typeof McpSetup>['data'];
