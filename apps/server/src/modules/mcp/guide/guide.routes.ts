import Type from 'typebox';

import { access } from '#core/base/access/access';
import { newSecret } from '#core/base/crypto/secrets';
import { defineRoute, type Route } from '#core/http/route';
import type { Catalog } from '#modules/mcp/catalog';
import { McpInfo, McpSetup } from '#modules/mcp/guide/guide.schemas';
import { describeServer } from '#modules/mcp/guide/info';
import { describeSetup, toMarkdown } from '#modules/mcp/guide/setup';
import { renderSetupPage, setupPolicy } from '#modules/mcp/guide/setup-page';
import { preferredMediaType } from '#modules/mcp/media-types.rules';

/** Pages for users and programs before they connect; they need and show no credentials. */
export function createGuideRoutes(readCatalog: () => Catalog): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/mcp/info',
      operationId: 'getMcpInfo',
      summary: 'Describe the MCP server: tools, prompts, and which tool to call first',
      access: access.public('clients read this before they connect'),
      schema: { response: { 200: McpInfo } },
      handler: ({ services }) => describeServer(services.settings, readCatalog()),
    }),
    defineRoute({
      method: 'GET',
      path: '/mcp/setup',
      operationId: 'getMcpSetup',
      summary: 'Get instructions to connect an MCP client, as a web page, Markdown or JSON',
      access: access.public('a user who configures a client has no session; the page shows no credentials'),
      schema: {
        response: { 200: Type.Union([McpSetup, Type.String({ description: 'Instructions as HTML or Markdown.' })]) },
      },
      contentTypes: ['application/json', 'text/html', 'text/markdown'],
      handler: ({ request, services: { settings }, setHeader }) => {
        setHeader('vary', 'Accept');
        const type = preferredMediaType(request.headers['accept'], ['application/json', 'text/html', 'text/markdown']);
        if (type === 'application/json') return { data: describeSetup(settings, readCatalog()) };
        setHeader('content-type', `${type}; charset=utf-8`);
        if (type === 'text/markdown') return toMarkdown(describeSetup(settings, readCatalog()));
        const nonce = newSecret();
        setHeader('content-security-policy', setupPolicy(nonce));
        return renderSetupPage(settings, readCatalog(), nonce);
      },
    }),
  ];
}
