import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';
import type { GeocodingAdapter } from '#modules/connectors/geocoding/adapter';
import { nominatim } from '#modules/connectors/geocoding/adapters/nominatim/nominatim';

/** By the name that `config.adapter` or the api_key of the connector gives. */
export const adapters: Readonly<Record<string, GeocodingAdapter>> = { nominatim };

/** The categories that a connector of places may have. */
export const categories: readonly string[] = ['integration', 'app_service'];

/** The adapter of a connector; undefined when it is for something else. */
export function adapterOf(named: Named): GeocodingAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether a connector is one of places. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}
