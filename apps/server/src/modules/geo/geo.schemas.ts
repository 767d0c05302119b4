import Type, { type Static } from 'typebox';

import { Language, closed, dataOf, listOf, nullable } from '#core/http/schemas';

const Text = nullable(Type.String());
const Latitude = Type.Number({ minimum: -90, maximum: 90 });
const Longitude = Type.Number({ minimum: -180, maximum: 180 });

const GeoPlace = closed(
  {
    name: Type.String(),
    lat: Latitude,
    lng: Longitude,
    type: Text,
    address: closed({
      street: Text,
      house_number: Text,
      postcode: Text,
      city: Text,
      region: Text,
      country: Text,
      country_code: Text,
    }),
    provider: Type.String({ description: 'The api_key of the connector that answered.' }),
  },
  { title: 'GeoPlace' },
);

export const PlaceList = listOf(GeoPlace);
export const PlaceAnswer = dataOf(nullable(GeoPlace));

export const SearchQuery = Type.Object({
  q: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'An address, or the name of a place.' }),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 10 })),
  language: Type.Optional(Language),
});
export type SearchQuery = Static<typeof SearchQuery>;

export const ReverseQuery = Type.Object({ lat: Latitude, lng: Longitude, language: Type.Optional(Language) });
export type ReverseQuery = Static<typeof ReverseQuery>;
