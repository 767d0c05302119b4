import { describe, expect, it } from 'vitest';

import { nominatim } from '#modules/connectors/geocoding/adapters/nominatim/nominatim';

const settings = (rest: object = {}) => ({
  baseUrl: 'https://nominatim.openstreetmap.org',
  config: {},
  credentials: null,
  ...rest,
});
const wanted = { text: 'x', limit: 20, language: undefined };
const read = (entries: unknown) => nominatim.readSearch(JSON.stringify(entries), wanted);
const readOne = (entry: object) => read([{ display_name: 'A', lat: '1', lon: '2', ...entry }])[0]!;

describe('searchRequest', () => {
  it('contains only the requested parameters', () => {
    const { url, headers } = nominatim.searchRequest(settings(), { text: 'Ä & b?', limit: 3, language: 'fr' });
    expect(url).toBe(
      'https://nominatim.openstreetmap.org/search?q=%C3%84+%26+b%3F&limit=3&format=jsonv2&addressdetails=1&accept-language=fr',
    );
    expect(headers).toEqual({ accept: 'application/json', 'user-agent': 'Atrium' });
  });

  it('appends to the path of the connector and keeps its query', () => {
    const { url } = nominatim.searchRequest(
      settings({ baseUrl: 'https://a.example/geo/?key=1', config: { email: 'a@b.example' } }),
      wanted,
    );
    expect(url).toBe(
      'https://a.example/geo/search?key=1&q=x&limit=20&format=jsonv2&addressdetails=1&email=a%40b.example',
    );
  });
});

describe('reverseRequest', () => {
  it.each([
    [48.2084905, 16.3729532, '48.2084905', '16.3729532'],
    [-90, 180, '-90.0000000', '180.0000000'],
    [1e-7, -1e-7, '0.0000001', '-0.0000001'],
    [0, -0, '0.0000000', '0.0000000'],
  ])('%d, %d', (lat, lng, asksLat, asksLon) => {
    const { searchParams, pathname } = new URL(
      nominatim.reverseRequest(settings(), { lat, lng, language: undefined }).url,
    );
    expect([pathname, searchParams.get('lat'), searchParams.get('lon')]).toEqual(['/reverse', asksLat, asksLon]);
  });
});

describe('problem', () => {
  it.each([
    [{}, undefined],
    [{ email: 'maps@example.com' }, undefined],
    [{ email: 5 }, 'config.email has to be a text.'],
    [{ email: 'invalid' }, 'config.email has not the form that the provider expects.'],
    [{ email: 'a\n@b.example' }, 'config.email has not the form that the provider expects.'],
  ])('%j: %s', (config, problem) => {
    expect(nominatim.problem(settings({ config }))).toBe(problem);
  });
});

describe('readSearch', () => {
  it.each<[object, object]>([
    [
      { lat: 1.5, lon: -2.5 },
      { lat: 1.5, lng: -2.5 },
    ],
    [
      { lat: '-90', lon: '180.0000' },
      { lat: -90, lng: 180 },
    ],
    [{ display_name: undefined, name: 'B' }, { name: 'B' }],
    [{ display_name: ' A\u0000\n' }, { name: 'A' }],
    [{ display_name: 'a\ud800' }, { name: 'a\ufffd' }],
    [{ display_name: 'x'.repeat(1000) }, { name: 'x'.repeat(500) }],
    [{ type: undefined }, { type: null }],
    [{ type: 5 }, { type: null }],
    [{ address: { town: 'T', village: 'V' } }, { address: { city: 'T' } }],
    [{ address: { village: 'V' } }, { address: { city: 'V' } }],
    [{ address: { pedestrian: 'P', county: 'C' } }, { address: { street: 'P', region: 'C' } }],
    [{ address: { road: '', pedestrian: 'P' } }, { address: { street: 'P' } }],
    [{ address: { country_code: 'de' } }, { address: { countryCode: 'DE' } }],
    [{ address: { country_code: 'deu' } }, { address: { countryCode: null } }],
    [{ address: { country_code: 5, postcode: 1010 } }, { address: { countryCode: null, postcode: null } }],
  ])('%j becomes %j', (entry, expected) => {
    expect(readOne(entry)).toMatchObject(expected);
  });

  it.each([[undefined], [null], ['canary'], [5], [[]], [{}]])(
    'returns null for each part of an address that is %j',
    (address) => {
      const nothing = { street: null, houseNumber: null, postcode: null, city: null, region: null, country: null };
      expect(readOne({ address }).address).toEqual({ ...nothing, countryCode: null });
    },
  );

  it.each([
    { lat: '90.1' },
    { lat: -90.0001 },
    { lon: '180.5' },
    { lat: 'north' },
    { lat: '1e1' },
    { lat: '' },
    { lat: ' 1' },
    { lat: null },
    { lon: undefined },
    { display_name: 5 },
    { display_name: ' ' },
  ])('omits an entry with %j', (rest) => {
    const good = { display_name: 'A', lat: '1', lon: '2' };
    expect(read([{ ...good, ...rest }, good])).toHaveLength(1);
  });

  it('returns at most the requested number of places', () => {
    const many = Array.from({ length: 100 }, (_, at) => ({ display_name: `${at}`, lat: 1, lon: 2 }));
    expect(read(many).map(({ name }) => name)).toEqual(many.slice(0, 20).map(({ display_name: name }) => name));
  });
});

describe('readReverse', () => {
  it('is null if the provider finds nothing', () => {
    expect(nominatim.readReverse('{"error":"Unable to geocode"}')).toBeNull();
  });

  it.each(['[]', '{}', '{"error":5}', '{"display_name":"A"}', 'x'])('refuses the answer %s', (body) => {
    expect(() => nominatim.readReverse(body)).toThrow('a provider failed: content');
  });
});
