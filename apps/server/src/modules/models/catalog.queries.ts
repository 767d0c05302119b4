import { sql } from 'kysely';

import { fromNow, isUnleased } from '#core/data/db/lease';
import { queryBuilder, read, write } from '#core/data/db/query';
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
type CatalogTable = {
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

type ById = { tenantId: string; task: CatalogTable['task'] };

/** Longer than all attempts at providers together. */
export const leaseMs = 30_000;

const builder = queryBuilder<{ model_catalogs: CatalogTable }>();

/** Without the models if the list has the known version. */
export const findCatalog = read<
  ById & { knownFetchedAt: string | null; knownSource: string | null },
  CatalogRow & { is_known: boolean }
>((p) => {
  const isKnown = sql<boolean>`(fetched_at = ${p.knownFetchedAt}::timestamptz and source = ${p.knownSource}) is true`;
  return builder
    .selectFrom('model_catalogs')
    .select(['tenant_id', 'task', 'provider', 'source', 'fetched_at', 'lease_until', 'retry_at', 'failures'])
    .select([isKnown.as('is_known'), sql<never>`case when not ${isKnown} then models end`.as('models')])
    .where('tenant_id', '=', p.tenantId)
    .where('task', '=', p.task)
    .$castTo<CatalogRow & { is_known: boolean }>();
});

/** The row without its models, which are large. */
export const findRefresh = read<ById, Pick<CatalogTable, 'fetched_at' | 'lease_until' | 'failures'>>((p) =>
  builder
    .selectFrom('model_catalogs')
    .select(['fetched_at', 'lease_until', 'failures'])
    .where('tenant_id', '=', p.tenantId)
    .where('task', '=', p.task),
);

/** No row if another process refreshes the list, or has done so since the row was read. */
export const claimRefresh = write<
  ById & { seenFetchedAt: string | null; seenFailures: number },
  { task: CatalogTable['task'] }
>((p) =>
  builder
    .insertInto('model_catalogs')
    .values({
      tenant_id: p.tenantId,
      task: p.task,
      models: null,
      provider: null,
      source: null,
      fetched_at: null,
      lease_until: fromNow(leaseMs),
      retry_at: null,
      failures: 0,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'task'])
        .doUpdateSet({ lease_until: fromNow(leaseMs) })
        .where(isUnleased('model_catalogs.lease_until'))
        .where(sql<boolean>`model_catalogs.fetched_at is not distinct from ${p.seenFetchedAt}::timestamptz`)
        .where('model_catalogs.failures', '=', p.seenFailures),
    )
    .returning('task'),
);

export const saveCatalog = write<ById & { models: string; provider: string; source: string; fetchedAt: string }, never>(
  (p) =>
    builder
      .updateTable('model_catalogs')
      .set({
        models: p.models,
        provider: p.provider,
        source: p.source,
        fetched_at: p.fetchedAt,
        lease_until: null,
        retry_at: null,
        failures: 0,
      })
      .where('tenant_id', '=', p.tenantId)
      .where('task', '=', p.task),
);

/** Keeps the stored list; `retryAt` is null if the provider did not fail. */
export const noteFailure = write<ById & { failures: number; retryAt: string | null }, never>((p) =>
  builder
    .updateTable('model_catalogs')
    .set({ lease_until: null, retry_at: p.retryAt, failures: p.failures })
    .where('tenant_id', '=', p.tenantId)
    .where('task', '=', p.task),
);
