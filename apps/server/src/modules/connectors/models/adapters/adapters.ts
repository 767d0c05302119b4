import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';
import type { ModelsAdapter } from '#modules/connectors/models/adapter';
import { modelhub } from '#modules/connectors/models/adapters/modelhub/modelhub';

/** By the name that `config.adapter` or the api_key of the connector gives. */
export const adapters: Readonly<Record<string, ModelsAdapter>> = { modelhub };

/** The categories that a connector of models may have. */
export const categories: readonly string[] = ['system_sync', 'app_service'];

/** The adapter of a connector; undefined when it is for something else. */
export function adapterOf(named: Named): ModelsAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether a connector is one of models. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}
