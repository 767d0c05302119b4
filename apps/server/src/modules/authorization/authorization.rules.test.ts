import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { operationAt } from '#modules/authorization/authorization.rules';
import { routes, routeOf, urlOf } from '#test/support/registry';

const at = (method: string, path: string) => operationAt(routes, { method, path })?.operationId;
const id = newId();

/** Routes of which only the path matters. */
const planted = (...paths: string[]) =>
  paths.map((path) => ({ ...routeOf('listSpaces'), path, operationId: path }) as (typeof routes)[number]);

describe('operationAt', () => {
  it.each(routes.map((route) => [route.operationId, route] as const))('finds %s by its own path', (_name, route) => {
    expect(at(route.method, urlOf(route, id))).toBe(route.operationId);
    expect(at(route.method, `${urlOf(route, id)}/`)).toBe(route.operationId);
    expect(at(route.method, `${urlOf(route, id)}?limit=5#top`)).toBe(route.operationId);
  });

  it('distinguishes methods and paths', () => {
    expect(at('GET', '/api/v1/secure/spaces')).toBe('listSpaces');
    expect(at('POST', '/api/v1/secure/spaces')).toBe('createSpace');
    expect(at('GET', `/api/v1/secure/spaces/${id}`)).toBe('getSpace');
    expect(at('GET', `/api/v1/secure/spaces/${id}/contacts`)).toBe('listSpaceContacts');
  });

  it.each([
    ['PUT', '/api/v1/secure/spaces'],
    ['GET', '/api/v1/secure'],
    ['GET', '/api/v1/secure/spaces//'],
    ['GET', `/api/v1/secure/spaces/${id}/contacts/${id}/more`],
    ['GET', '/API/v1/secure/spaces'],
    ['GET', '/'],
    ['GET', ''],
  ])('finds nothing at %s %s', (method, path) => {
    expect(at(method, path)).toBeUndefined();
  });

  it('prefers a literal segment to a parameter; the earlier segment decides', () => {
    const routed = planted('/things/{id}', '/things/templates', '/{kind}/{id}', '/{kind}/templates');
    const choose = (path: string) => operationAt(routed, { method: 'GET', path })?.path;
    expect(choose('/things/templates')).toBe('/things/templates');
    expect(choose('/things/42')).toBe('/things/{id}');
    expect(choose('/other/templates')).toBe('/{kind}/templates');
    expect(choose('/other/42')).toBe('/{kind}/{id}');
    expect(operationAt(routed.toReversed(), { method: 'GET', path: '/things/templates' })?.path).toBe(
      '/things/templates',
    );
  });
});
