import type { Reading } from '#core/platform/outbound/reading';
import { adapterIn, isOf, type Describing, type Named } from '#modules/connectors/kind';
import type { ModelList, ModelsAdapter, ModelTask } from '#modules/connectors/models/adapter';
import { modelhub } from '#modules/connectors/models/adapters/modelhub/modelhub';

/** Adapters by `config.adapter` or api_key. */
export const adapters: Readonly<Record<string, ModelsAdapter>> = { modelhub };

/** Categories of model connectors. */
export const categories: readonly string[] = ['system_sync', 'app_service'];

/** The adapter of a connector; undefined for another kind. */
export function adapterOf(named: Named): ModelsAdapter | undefined {
  return adapterIn({ adapters }, named);
}

/** Whether it is a model connector. */
export function serves(row: Describing): boolean {
  return isOf({ adapters, categories }, row);
}

type ListReading = { adapter: string; task: ModelTask };

/** How a worker thread parses the list of an adapter. */
export function threadReading(adapter: ModelsAdapter, task: ModelTask): Reading {
  const name = Object.keys(adapters).find((key) => adapters[key] === adapter)!;
  return {
    script: new URL('list-reader.ts', import.meta.url),
    argument: { adapter: name, task } satisfies ListReading,
  };
}

/** Entry point of the worker thread. */
export function readList(text: string, { adapter, task }: ListReading): ModelList {
  return adapters[adapter]!.read(text, task);
}
