import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { TooManyLookUps } from '#modules/geo/geo.errors';
import * as schemas from '#modules/geo/geo.schemas';
import { reverseGeo, searchGeo } from '#modules/geo/geo.service';

const refusals = [TooManyLookUps, NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded];

/** Where addresses are, and what is where. */
export const geoModule = defineModule({
  name: 'geo',
  description: 'Where addresses are, and what is where',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/geo/search',
      operationId: 'searchPlaces',
      summary: 'Places that a text may mean, the likeliest first',
      access: access.member('geo.geocode'),
      schema: { query: schemas.SearchQuery, response: { 200: schemas.PlaceList } },
      errors: refusals,
      tool: {
        toolset: 'geo',
        description: 'Asks an outside provider for the places that an address or a name may mean, the likeliest first.',
        openWorld: true,
      },
      handler: ({ actor, query, services, untilAbandoned }) =>
        searchGeo({ actor, services, signal: untilAbandoned() }, query),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/geo/reverse',
      operationId: 'findPlaceAt',
      summary: 'What is at the coordinates, or null',
      access: access.member('geo.reverse_geocode'),
      schema: { query: schemas.ReverseQuery, response: { 200: schemas.PlaceAnswer } },
      errors: refusals,
      tool: {
        toolset: 'geo',
        description: 'Asks an outside provider what is at the coordinates; null where nothing is known.',
        openWorld: true,
      },
      handler: ({ actor, query, services, untilAbandoned }) =>
        reverseGeo({ actor, services, signal: untilAbandoned() }, query),
    }),
  ],
});
