import type { GeocodingAdapter } from '#modules/connectors/geocoding/adapter';
import { nominatim } from '#modules/connectors/geocoding/adapters/nominatim/nominatim';
import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';

/** Adapters by `config.adapter` or api_key. */
export const adapters: Readonly<Record<string, GeocodingAdapter>> = { nominatim };

/** Categories of geocoding connectors. */
export const categories: readonly string[] = ['integration', 'app_service'];

/** The adapter of a connector; undefined for another kind. */
export function adapterOf(named: Named): GeocodingAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether it is a geocoding connector. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}
