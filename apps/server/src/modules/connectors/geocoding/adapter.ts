import type { ProviderSettings } from '#modules/connectors/provider';

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

/** In the language given by its two letters, or in that of the place. */
export type PlaceSearch = { text: string; limit: number; language: string | undefined };
export type Coordinates = { lat: number; lng: number; language: string | undefined };

type Request = { url: string; headers: Record<string, string> };

/** Speaks one provider's protocol. Both `read…` throw ProviderFailure where the answer makes no sense. */
export type GeocodingAdapter = {
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
  /** Costs the provider next to nothing, and is answered with 2xx where all is well. */
  check(settings: ProviderSettings): Request;
  searchRequest(settings: ProviderSettings, wanted: PlaceSearch): Request;
  readSearch(body: string, wanted: PlaceSearch): Place[];
  reverseRequest(settings: ProviderSettings, wanted: Coordinates): Request;
  /** Null where there is nothing at the coordinates. */
  readReverse(body: string): Place | null;
};
