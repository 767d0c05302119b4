import type { McpClient } from '#modules/mcp/guide/guide.schemas';

/** Stands in every configuration where the key goes; the page replaces it in the browser, and nothing else does. */
export const keyPlaceholder = 'YOUR_API_KEY';

type Server = { name: string; endpoint: string };

/** How each client is told of the server, in the syntax that it has of its own. */
export function listClients(server: Server): McpClient[] {
  return [claudeCode, claudeDesktop, cursor, vsCode, codex, geminiCli, anyOther].map((describe) => describe(server));
}

function claudeCode({ name, endpoint }: Server): McpClient {
  return {
    id: 'claude-code',
    name: 'Claude Code',
    place: 'In a terminal',
    language: 'sh',
    // The option takes all that follows it: the name and the address go before it.
    config: `claude mcp add --transport http --scope user ${name} "${endpoint}" --header "X-API-Key: ${keyPlaceholder}"`,
    note: 'Then `/mcp` in Claude Code shows the connection. With `--scope project` it goes into `.mcp.json` for the whole team: write `${ATRIUM_API_KEY}` there instead of the key.',
  };
}

function claudeDesktop({ name, endpoint }: Server): McpClient {
  const isPlain = /^http:\/\/(?!localhost[:/]|127\.0\.0\.1[:/])/.test(endpoint);
  const options = ['--transport', 'http-only', ...(isPlain ? ['--allow-http'] : [])];
  return {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    place: 'claude_desktop_config.json, from Settings, Developer, Edit Config',
    language: 'json',
    config: json({
      mcpServers: {
        [name]: {
          command: 'npx',
          // Without a space after the colon: on Windows arguments are cut at spaces.
          args: ['-y', 'mcp-remote', endpoint, ...options, '--header', 'X-API-Key:${ATRIUM_API_KEY}'],
          env: { ATRIUM_API_KEY: keyPlaceholder },
        },
      },
    }),
    note: 'Needs Node 18 or newer, as this file knows local servers only and `mcp-remote` is the bridge. Restart Claude Desktop afterwards.',
  };
}

function cursor({ name, endpoint }: Server): McpClient {
  return {
    id: 'cursor',
    name: 'Cursor',
    place: '~/.cursor/mcp.json',
    language: 'json',
    config: json({ mcpServers: { [name]: { url: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'In `.cursor/mcp.json` of a project, which others see, write `${env:ATRIUM_API_KEY}` instead of the key.',
  };
}

function vsCode({ name, endpoint }: Server): McpClient {
  const id = `${name}-api-key`;
  return {
    id: 'vs-code',
    name: 'VS Code',
    place: '.vscode/mcp.json, or “MCP: Open User Configuration”',
    language: 'json',
    config: json({
      inputs: [{ type: 'promptString', id, description: 'Atrium API key', password: true }],
      servers: { [name]: { type: 'http', url: endpoint, headers: { 'X-API-Key': `\${input:${id}}` } } },
    }),
    note: 'VS Code asks for the key once and keeps it in its own secret storage; the file can be shared.',
  };
}

function codex({ name, endpoint }: Server): McpClient {
  return {
    id: 'codex',
    name: 'Codex',
    place: '~/.codex/config.toml',
    language: 'toml',
    config: `[mcp_servers.${name}]\nurl = ${JSON.stringify(endpoint)}\nhttp_headers = { "X-API-Key" = "${keyPlaceholder}" }`,
    note: '`env_http_headers = { "X-API-Key" = "ATRIUM_API_KEY" }` instead takes the key from an environment variable.',
  };
}

function geminiCli({ name, endpoint }: Server): McpClient {
  return {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    place: '~/.gemini/settings.json',
    language: 'json',
    config: json({ mcpServers: { [name]: { httpUrl: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'It has to be `httpUrl`: a `url` is taken for a server of the older transport. `/mcp` shows the connection.',
  };
}

function anyOther({ name, endpoint }: Server): McpClient {
  return {
    id: 'other',
    name: 'Other',
    place: 'Where the client keeps its servers',
    language: 'json',
    config: json({ mcpServers: { [name]: { type: 'http', url: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'Any client that speaks Streamable HTTP and sends headers of its own. One that only starts programs takes what Claude Desktop does.',
  };
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
