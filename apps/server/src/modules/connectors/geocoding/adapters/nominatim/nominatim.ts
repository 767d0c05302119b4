import { unusable } from '#modules/connectors/calls/failures';
import type { GeocodingAdapter, Place, PlaceAddress } from '#modules/connectors/geocoding/adapter';
import { below, firstProblem, type Fields, type ProviderSettings } from '#modules/connectors/provider';

const maxTextLength = 500;
const email = /^[\x21-\x3f\x41-\x7e]{1,64}@[a-z0-9.-]{1,189}$/i;
const coordinate = /^-?\d{1,3}(?:\.\d{1,20})?$/;
// PostgreSQL does not store them, and they are unreadable.
const controls = /\p{Cc}/gu;

/**
 * Search and reverse of Nominatim and compatible servers. `config.email` is the contact for the operator of the server, which
 * the usage policy of the public server requires.
 */
export const nominatim: GeocodingAdapter = {
  problem: ({ config }) => (config['email'] === undefined ? undefined : firstProblem('config', config, { email })),
  // A position in the ocean is answered with 200, while only some compatible servers have `/status`.
  check: (settings) => request(settings, '/reverse', { lat: '0', lon: '0', zoom: '3' }, undefined),
  searchRequest: (settings, { text, limit, language }) =>
    request(settings, '/search', { q: text, limit: String(limit) }, language),
  readSearch(body, { limit }) {
    const answer = parse(body);
    if (!Array.isArray(answer)) throw unusable('the answer is not a list of places');
    const places = answer.map(toPlace).filter((place) => place !== undefined);
    if (places.length === 0 && answer.length > 0) throw unusable('no entry of the list is a place');
    return places.slice(0, limit);
  },
  reverseRequest: (settings, { lat, lng, language }) =>
    request(settings, '/reverse', { lat: plain(lat), lon: plain(lng) }, language),
  readReverse(body) {
    const answer = parse(body);
    if (isObject(answer) && typeof answer['error'] === 'string') return null;
    const place = toPlace(answer);
    if (place === undefined) throw unusable('the answer is not a place');
    return place;
  },
};

function request(
  { baseUrl, config }: ProviderSettings,
  path: string,
  query: Record<string, string>,
  language: string | undefined,
) {
  const url = new URL(below(baseUrl, path));
  const contact = config['email'] as string | undefined;
  const parameters = {
    ...query,
    format: 'jsonv2',
    addressdetails: '1',
    ...(language === undefined ? {} : { 'accept-language': language }),
    ...(contact === undefined ? {} : { email: contact }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, headers: { accept: 'application/json', 'user-agent': 'Atrium' } };
}

/** Avoids the exponent of very small numbers. */
function plain(degrees: number): string {
  return degrees.toFixed(7);
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw unusable('the answer is not JSON');
  }
}

function toPlace(entry: unknown): Place | undefined {
  if (!isObject(entry)) return undefined;
  const { display_name: label, name: ownName, address } = entry;
  const name = toText(label) ?? toText(ownName);
  const lat = toDegrees(entry['lat'], 90);
  const lng = toDegrees(entry['lon'], 180);
  if (name === null || lat === undefined || lng === undefined) return undefined;
  return { name, lat, lng, type: toText(entry['type']), address: toAddress(isObject(address) ? address : {}) };
}

function toAddress(parts: Fields): PlaceAddress {
  const first = (...names: string[]) => names.map((name) => toText(parts[name])).find((text) => text !== null) ?? null;
  const code = first('country_code')?.toUpperCase() ?? '';
  return {
    street: first('road', 'pedestrian', 'footway', 'path', 'square'),
    houseNumber: first('house_number'),
    postcode: first('postcode'),
    city: first('city', 'town', 'village', 'municipality', 'hamlet'),
    region: first('state', 'province', 'region', 'state_district', 'county'),
    country: first('country'),
    countryCode: /^[A-Z]{2}$/.test(code) ? code : null,
  };
}

function toText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replaceAll(controls, ' ').trim().slice(0, maxTextLength).toWellFormed();
  return text === '' ? null : text;
}

/** Nominatim sends coordinates as strings. */
function toDegrees(value: unknown, max: number): number | undefined {
  const degrees = typeof value === 'string' && coordinate.test(value) ? Number(value) : value;
  return typeof degrees === 'number' && Math.abs(degrees) <= max ? degrees : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
