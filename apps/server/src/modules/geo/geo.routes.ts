import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { TooManyLookups } from '#modules/geo/geo.errors';
import * as schemas from '#modules/geo/geo.schemas';
import { reverseGeo, searchGeo } from '#modules/geo/geo.service';

const refusals = [TooManyLookups, NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded];

export const geoRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/geo/search',
    operationId: 'searchPlaces',
    summary: 'Search places by address or name, the best match first',
    access: access.member('geo.geocode'),
    schema: { query: schemas.SearchQuery, response: { 200: schemas.PlaceList } },
    errors: refusals,
    tool: {
      toolset: 'geo',
      description: 'Searches places by address or name at an external provider, the best match first.',
      openWorld: true,
    },
    handler: ({ actor, query, services, untilAbandoned }) =>
      searchGeo({ actor, services, signal: untilAbandoned() }, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/geo/reverse',
    operationId: 'findPlaceAt',
    summary: 'Find the place at coordinates; null for an unknown place',
    access: access.member('geo.reverse_geocode'),
    schema: { query: schemas.ReverseQuery, response: { 200: schemas.PlaceAnswer } },
    errors: refusals,
    tool: {
      toolset: 'geo',
      description: 'Finds the place at coordinates through an external provider; null if the provider knows none.',
      openWorld: true,
    },
    handler: ({ actor, query, services, untilAbandoned }) =>
      reverseGeo({ actor, services, signal: untilAbandoned() }, query),
  }),
];
