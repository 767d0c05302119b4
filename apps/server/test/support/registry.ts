import { modules } from '#app/modules';
import type { Route } from '#core/http/route';

/** Every operation of the product. */
export const routes: readonly Route[] = modules.flatMap((module) => module.routes);

export function routeOf(operationId: string): Route {
  const route = routes.find((candidate) => candidate.operationId === operationId);
  if (route === undefined) throw new Error(`there is no operation ${operationId}`);
  return route;
}

/** The route's path with its parameters filled in, as text that is already safe for a URL. */
export function urlOf(route: Route, value: string | ((name: string) => string)): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    typeof value === 'string' ? value : value(name),
  );
}

/** What is in one list and not in the other, as sentences; empty when a hand-written table is complete. */
export function compareTables(table: readonly string[], registry: readonly string[]): string[] {
  return [
    ...registry.filter((name) => !table.includes(name)).map((name) => `${name} has no row: write who may call it`),
    ...table.filter((name) => !registry.includes(name)).map((name) => `the row ${name} has nothing behind it`),
  ];
}
