import { defineModule, type Module } from '#core/http/route';
import { toCatalog, type Catalog } from '#modules/mcp/catalog';
import { createEndpointRoute } from '#modules/mcp/endpoint.routes';
import { createGuideRoutes } from '#modules/mcp/guide/guide.routes';

/** MCP server: offers the operations that declare a tool in their route. */
export function createMcpModule(listModules: () => readonly Module[]): Module {
  let catalog: Catalog | undefined;
  return defineModule({
    name: 'mcp',
    description: 'MCP server: operations as tools for models',
    routes: [createEndpointRoute(listModules), ...createGuideRoutes(() => (catalog ??= toCatalog(listModules())))],
  });
}
