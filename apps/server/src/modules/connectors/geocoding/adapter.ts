import type { ProviderSettings } from '#modules/connectors/provider';
import type { Needs } from '#modules/connectors/settings';

export type PlaceAddress = {
  street: string | null;
  houseNumber: string | null;
  postcode: string | null;
  city: string | null;
  region: string | null;
  country: string | null;
  /** ISO 3166-1, in upper case. */
  countryCode: string | null;
};

export type Place = { name: string; lat: number; lng: number; type: string | null; address: PlaceAddress };

/** Language of the results (ISO 639-1); default: the local language. */
export type PlaceSearch = { text: string; limit: number; language: string | undefined };
export type Coordinates = { lat: number; lng: number; language: string | undefined };

type Request = { url: string; headers: Record<string, string> };

/** The protocol of one provider. Both `read…` throw ProviderFailure for unusable content. */
export type GeocodingAdapter = {
  readonly needs?: Needs;
  /** A problem with optional settings, as a sentence without values. */
  problem(settings: ProviderSettings): string | undefined;
  /** A cheap request that the provider answers with 2xx if it works. */
  check(settings: ProviderSettings): Request;
  searchRequest(settings: ProviderSettings, wanted: PlaceSearch): Request;
  readSearch(body: string, wanted: PlaceSearch): Place[];
  reverseRequest(settings: ProviderSettings, wanted: Coordinates): Request;
  /** Null if nothing is at the coordinates. */
  readReverse(body: string): Place | null;
};
