import type { GeocodingAdapter } from '#modules/connectors/geocoding/adapter';
import { nominatim } from '#modules/connectors/geocoding/adapters/nominatim/nominatim';
import type { Fields } from '#modules/connectors/provider';

/** By the name that `config.adapter` or the api_key of the connector gives. */
export const adapters: Readonly<Record<string, GeocodingAdapter>> = { nominatim };

/** The categories that a connector of places may have. */
export const categories: readonly string[] = ['integration', 'app_service'];

/** The adapter of a connector; undefined when it is for something else. */
export function adapterOf({ config, key }: { config: Fields; key: string }): GeocodingAdapter | undefined {
  const { adapter: name = key } = config;
  return typeof name === 'string' && Object.hasOwn(adapters, name) ? adapters[name] : undefined;
}
