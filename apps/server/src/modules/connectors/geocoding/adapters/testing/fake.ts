import type { Coordinates, Place, PlaceSearch } from '#modules/connectors/geocoding/adapter';
import type { Respond } from '#modules/connectors/testing/provider-server';

/** A provider of places as its public documentation describes it. */
export type GeocodingFake = {
  adapter: string;
  /** The part of the base URL behind the host. */
  basePath: string;
  config: Record<string, unknown>;
  respond: Respond;
  /** What it finds, and what it is asked for that. */
  search: { wanted: PlaceSearch; places: Place[] };
  reverse: { wanted: Coordinates; place: Place };
  /** Where it knows of nothing. */
  nothing: { search: PlaceSearch; reverse: Coordinates };
};
