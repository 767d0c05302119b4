import Type, { type Static } from 'typebox';

import { closed, dataOf, listOf, nullable } from '#core/base/schemas';

const Text = nullable(Type.String());
const Latitude = Type.Number({ minimum: -90, maximum: 90 });
const Longitude = Type.Number({ minimum: -180, maximum: 180 });

const GeoPlace = closed(
  {
    name: Type.String({ description: 'Name of the place, as the provider writes it.' }),
    lat: Latitude,
    lng: Longitude,
    type: nullable(Type.String(), { description: 'Kind of the place in the words of the provider; null if unknown.' }),
    address: closed(
      {
        street: Text,
        house_number: nullable(Type.String(), { description: 'House number.' }),
        postcode: nullable(Type.String(), { description: 'Postal code.' }),
        city: Text,
        region: Text,
        country: Text,
        country_code: Text,
      },
      { description: 'Postal address; a part that the provider does not know is null.' },
    ),
    provider: Type.String({ description: 'Adapter of the connector that answered (its `api_key`).' }),
  },
  { title: 'GeoPlace' },
);

export const PlaceList = listOf(GeoPlace);
export const PlaceAnswer = dataOf(nullable(GeoPlace));

const language = Type.Optional(
  Type.String({
    pattern: '^[a-z]{2}$',
    description: 'Language of the names (ISO 639-1); without it, the language of the place.',
  }),
);

export const SearchQuery = Type.Object({
  q: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'Address, or name of a place.' }),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, default: 10, description: 'Maximum number of places.' }),
  ),
  language,
});
export type SearchQuery = Static<typeof SearchQuery>;

export const ReverseQuery = Type.Object({ lat: Latitude, lng: Longitude, language });
export type ReverseQuery = Static<typeof ReverseQuery>;
