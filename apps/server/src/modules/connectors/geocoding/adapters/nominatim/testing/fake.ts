import type { GeocodingFake } from '#modules/connectors/geocoding/adapters/testing/fake';

/** Answers like https://nominatim.openstreetmap.org with format=jsonv2, including properties that the adapter ignores. */
const cathedral = {
  place_id: 119_874_321,
  licence: 'Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright',
  osm_type: 'way',
  osm_id: 22_687_431,
  lat: '48.2084905',
  lon: '16.3729532',
  category: 'amenity',
  type: 'place_of_worship',
  place_rank: 30,
  importance: 0.5,
  addresstype: 'amenity',
  name: 'Domkirche St. Stephan',
  display_name: 'Domkirche St. Stephan, 3, Stephansplatz, Innere Stadt, Wien, 1010, Österreich',
  address: {
    amenity: 'Domkirche St. Stephan',
    house_number: '3',
    road: 'Stephansplatz',
    suburb: 'Innere Stadt',
    city: 'Wien',
    'ISO3166-2-lvl4': 'AT-9',
    state: 'Wien',
    postcode: '1010',
    country: 'Österreich',
    country_code: 'at',
  },
  boundingbox: ['48.2080', '48.2090', '16.3720', '16.3740'],
};
const place = {
  name: cathedral.display_name,
  lat: 48.2084905,
  lng: 16.3729532,
  type: 'place_of_worship',
  address: {
    street: 'Stephansplatz',
    houseNumber: '3',
    postcode: '1010',
    city: 'Wien',
    region: 'Wien',
    country: 'Österreich',
    countryCode: 'AT',
  },
};

/** Nominatim, which wants to know who asks. */
export const nominatimFake: GeocodingFake = {
  adapter: 'nominatim',
  basePath: '/nominatim/?key=1',
  config: { email: 'maps@example.com' },
  search: { wanted: { text: 'Stephansplatz 3 & Wien', limit: 2, language: 'de' }, places: [place] },
  reverse: { wanted: { lat: 48.2085, lng: 16.373, language: 'de' }, place },
  nothing: {
    search: { text: 'nowhere at all', limit: 2, language: undefined },
    reverse: { lat: 0, lng: -0.0000001, language: undefined },
  },
  respond({ method, url, headers }) {
    const asked = Object.fromEntries(url.searchParams);
    if (method !== 'GET' || asked['key'] !== '1') return { status: 404, body: 'Not found' };
    // The rules of the public server: no request without a name and, of many, none without an address to write to.
    if (headers['user-agent'] !== 'Atrium' || asked['email'] !== 'maps@example.com')
      return { status: 403, body: 'Access denied. See https://operations.osmfoundation.org/policies/nominatim/' };
    if (asked['format'] !== 'jsonv2' || asked['addressdetails'] !== '1') return { status: 400, body: '<xml/>' };
    const body = answers[url.pathname]?.(asked);
    return body === undefined ? { status: 404, body: 'Not found' } : { status: 200, body };
  },
};

const answers: Readonly<Record<string, (asked: Readonly<Record<string, string>>) => object>> = {
  '/nominatim/search': ({ q, limit, 'accept-language': language }) =>
    language === 'de' && q === 'Stephansplatz 3 & Wien' && limit === '2' ? [cathedral] : [],
  '/nominatim/reverse': ({ lat, lon, 'accept-language': language }) =>
    language === 'de' && lat === '48.2085000' && lon === '16.3730000' ? cathedral : { error: 'Unable to geocode' },
};
