import type { Model, ModelTask } from '#modules/connectors/index';

/** Either a provider has answered before, or nothing is known yet. */
type Copy =
  | { models: Model[]; provider: string; source: string; fetched_at: string }
  | { models: null; provider: null; source: null; fetched_at: null };

export type CatalogRow = Copy & {
  tenant_id: string;
  task: ModelTask;
  refresh_until: string | null;
  retry_at: string | null;
  failures: number;
};

/** The same as it is written: models as JSON. */
export type CatalogTable = {
  tenant_id: string;
  task: ModelTask;
  models: string | null;
  provider: string | null;
  source: string | null;
  fetched_at: string | null;
  refresh_until: string | null;
  retry_at: string | null;
  failures: number;
};
