import type { Model, ModelTask } from '#modules/connectors/index';

/** A list from a provider, or an empty row before the first answer. */
type Copy =
  | { models: Model[]; provider: string; source: string; fetched_at: string }
  | { models: null; provider: null; source: null; fetched_at: null };

export type CatalogRow = Copy & {
  tenant_id: string;
  task: ModelTask;
  lease_until: string | null;
  retry_at: string | null;
  failures: number;
};

/** The row as written, with models as JSON. */
export type CatalogTable = {
  tenant_id: string;
  task: ModelTask;
  models: string | null;
  provider: string | null;
  source: string | null;
  fetched_at: string | null;
  lease_until: string | null;
  retry_at: string | null;
  failures: number;
};
