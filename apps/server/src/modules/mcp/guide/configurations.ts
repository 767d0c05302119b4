import type { McpClient } from '#modules/mcp/guide/guide.schemas';

/** Placeholder of the key in every configuration; only the page in the browser replaces it. */
export const keyPlaceholder = 'YOUR_API_KEY';

type Server = { name: string; endpoint: string };

/** Configuration of the server for each client, in the syntax of that client. */
export function listClients(server: Server): McpClient[] {
  return [claudeCode, claudeDesktop, cursor, vsCode, codex, geminiCli, anyOther].map((describe) => describe(server));
}

function claudeCode({ name, endpoint }: Server): McpClient {
  return {
    id: 'claude-code',
    name: 'Claude Code',
    place: 'Terminal',
    language: 'sh',
    // The option takes all following arguments, so name and address come before it.
    config: `claude mcp add --transport http --scope user ${name} "${endpoint}" --header "X-API-Key: ${keyPlaceholder}"`,
    note: 'Then `/mcp` in Claude Code shows the connection. With `--scope project` the configuration is in `.mcp.json` for the whole team. Write `${ATRIUM_API_KEY}` there instead of the key.',
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
          // No space after the colon, because Windows splits arguments at spaces.
          args: ['-y', 'mcp-remote', endpoint, ...options, '--header', 'X-API-Key:${ATRIUM_API_KEY}'],
          env: { ATRIUM_API_KEY: keyPlaceholder },
        },
      },
    }),
    note: 'Requires Node 18 or newer: this file supports only local servers, and `mcp-remote` connects them to the remote server. Restart Claude Desktop afterwards.',
  };
}

function cursor({ name, endpoint }: Server): McpClient {
  return {
    id: 'cursor',
    name: 'Cursor',
    place: '~/.cursor/mcp.json',
    language: 'json',
    config: json({ mcpServers: { [name]: { url: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'Other users see `.cursor/mcp.json` of a project. Write `${env:ATRIUM_API_KEY}` there instead of the key.',
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
    note: 'VS Code asks for the key once and stores it in its secret storage, so you can share the file.',
  };
}

function codex({ name, endpoint }: Server): McpClient {
  return {
    id: 'codex',
    name: 'Codex',
    place: '~/.codex/config.toml',
    language: 'toml',
    config: `[mcp_servers.${name}]\nurl = ${JSON.stringify(endpoint)}\nhttp_headers = { "X-API-Key" = "${keyPlaceholder}" }`,
    note: 'Use `env_http_headers = { "X-API-Key" = "ATRIUM_API_KEY" }` to take the key from an environment variable.',
  };
}

function geminiCli({ name, endpoint }: Server): McpClient {
  return {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    place: '~/.gemini/settings.json',
    language: 'json',
    config: json({ mcpServers: { [name]: { httpUrl: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'Use `httpUrl`; `url` means a server with the older transport. `/mcp` shows the connection.',
  };
}

function anyOther({ name, endpoint }: Server): McpClient {
  return {
    id: 'other',
    name: 'Other',
    place: 'Server configuration of the client',
    language: 'json',
    config: json({ mcpServers: { [name]: { type: 'http', url: endpoint, headers: { 'X-API-Key': keyPlaceholder } } } }),
    note: 'For every client that supports Streamable HTTP and custom headers. A client that only starts programs uses the configuration of Claude Desktop.',
  };
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
