import type { ModelsAdapter } from '#modules/connectors/models/adapter';
import { modelhub } from '#modules/connectors/models/adapters/modelhub/modelhub';
import type { Fields } from '#modules/connectors/provider';

/** By the name that `config.adapter` or the api_key of the connector gives. */
export const adapters: Readonly<Record<string, ModelsAdapter>> = { modelhub };

/** The categories that a connector of models may have. */
export const categories: readonly string[] = ['system_sync', 'app_service'];

/** The adapter of a connector; undefined when it is for something else. */
export function adapterOf({ config, key }: { config: Fields; key: string }): ModelsAdapter | undefined {
  const { adapter: name = key } = config;
  return typeof name === 'string' && Object.hasOwn(adapters, name) ? adapters[name] : undefined;
}
