import { LRUCache } from 'lru-cache';
import { setTimeout as sleep } from 'node:timers/promises';

import { systemTenantId } from '#core/base/access/principal';
import { createSharedRuns } from '#core/base/concurrency/coalesce';
import { orAborted } from '#core/base/concurrency/or-aborted';
import { AppError } from '#core/base/errors/app-error';
import { perDatabase } from '#core/data/db/per-database';
import { isTimeout } from '#core/platform/outbound/deadline';
import type { Services } from '#core/platform/services';
import {
  assertOperationEnabled,
  fetchModels,
  listModelSources,
  NoProvider,
  ProvidersFailed,
  ProvidersRefused,
  type ModelTask,
} from '#modules/connectors/index';
import {
  claimRefresh,
  findCatalog,
  findRefresh,
  leaseMs,
  noteFailure,
  saveCatalog,
  type CatalogRow,
} from '#modules/models/catalog.queries';
import { isAging, isDoubtful, isStale, pauseAfter } from '#modules/models/catalog.rules';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

const lookAgainMs = 100;
/** A parsed list takes up to some megabytes. */
const maxParsed = 16;

/** The list of a provider. */
export type Catalog = Extract<CatalogRow, { fetched_at: string }>;

/** Owner and possible connectors of a list. */
type Place = { tenantId: string; task: ModelTask; sources: readonly string[] };

type Wanted = {
  tenantId: string;
  task: ModelTask;
  caller: { userId: string | null; requestId: string | null };
  /** Ends the wait for a list; a running provider call continues for the next caller. */
  signal?: AbortSignal;
};

/** Hides the owner of the connector from users who only read its list. */
const noCaller = { userId: null, requestId: null };

/**
 * The models of the tenant's own connectors, or of the installation's if it has none. Waits for a provider only if there is no
 * list yet; an old list is returned and refreshed in the background.
 * @throws NoProvider (503), OperationDisabled (403), and without a list ProvidersRefused (422), ProvidersFailed (502) and
 * QuotaExceeded (429)
 */
export async function readCatalog(
  services: Dependencies,
  { tenantId, task, caller, signal }: Wanted,
): Promise<Catalog> {
  const [place] = await Promise.all([
    placeOf(services, tenantId, task),
    assertOperationEnabled(services, { tenantId, operation: 'models.list' }),
  ]);
  const own = { ...place, caller: place.tenantId === tenantId ? caller : noCaller };
  const row = await findRow(services, place);
  if (row === undefined || !isUsable(row, place)) {
    const renewed = await orEnded(refresh(services, own, row), signal);
    return renewed !== undefined && isUsable(renewed, place) ? renewed : reread(services, place);
  }
  const isDue = isStale(row.fetched_at, services.now()) && !isPaused(row, services.now());
  if (isDue) refreshBehind(services, own, row);
  return row;
}

/** Refreshes the installation's list before it is too old; called by the job. */
export async function renewSystemCatalog(
  services: Dependencies,
  task: ModelTask,
  signal: AbortSignal,
): Promise<'renewed' | 'new enough' | 'no connector'> {
  const sources = await listModelSources(services, systemTenantId);
  if (sources.length === 0) return 'no connector';
  const place = { tenantId: systemTenantId, task, sources };
  const row = await findRow(services, place);
  if (row !== undefined && isUsable(row, place) && !isAging(row.fetched_at, services.now())) return 'new enough';
  await refresh(services, { ...place, caller: noCaller, signal }, row);
  return 'renewed';
}

async function placeOf(services: Dependencies, tenantId: string, task: ModelTask): Promise<Place> {
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? [] : listModelSources(services, tenantId),
    listModelSources(services, systemTenantId),
  ]);
  if (own.length > 0) return { tenantId, task, sources: own };
  if (system.length === 0) throw NoProvider();
  return { tenantId: systemTenantId, task, sources: system };
}

/** Lists that this process has parsed; a hit needs the same version in the database. */
const parsed = perDatabase(() => new LRUCache<string, Catalog>({ max: maxParsed }));

async function findRow({ database }: Dependencies, { tenantId, task }: Place): Promise<CatalogRow | undefined> {
  const db = tenantId === systemTenantId ? database.platform() : database.tenant(tenantId);
  const kept = parsed(database);
  const key = `${tenantId} ${task}`;
  const known = kept.get(key);
  const [knownFetchedAt, knownSource] = [known?.fetched_at ?? null, known?.source ?? null];
  const found = await db.interactive.first(findCatalog({ tenantId, task, knownFetchedAt, knownSource }));
  if (found === undefined) return undefined;
  const { is_known: isKnown, ...row } = found;
  if (isKnown) return { ...row, ...modelsOf(known!) };
  if (row.source !== null) kept.set(key, row);
  return row;
}

function modelsOf({ models, provider, source, fetched_at }: Catalog) {
  return { models, provider, source, fetched_at };
}

/** A list is invalid if its connector was deleted or has a new address. */
function isUsable(row: CatalogRow, { sources }: Place): row is Catalog {
  return row.source !== null && sources.includes(row.source);
}

function isPaused({ retry_at: retryAt }: CatalogRow, now: Date): boolean {
  return retryAt !== null && Date.parse(retryAt) > now.getTime();
}

async function reread(services: Dependencies, place: Place): Promise<Catalog> {
  const row = await findRow(services, place);
  if (row === undefined || !isUsable(row, place)) throw ProvidersFailed();
  return row;
}

function refreshBehind(services: Dependencies, wanted: Place & Wanted, row: CatalogRow): void {
  refresh(services, wanted, row).catch((error: unknown) => {
    const { tenantId, task } = wanted;
    services.log.warn(
      { err: error, tenantId, task },
      'a model catalog could not be refreshed; the current one stays in effect',
    );
  });
}

/** Running refreshes of this process by tenant and task. */
const underWay = perDatabase(() => createSharedRuns<Catalog | undefined>());

/** @throws the reason of the signal, or ProvidersFailed (502) for a timeout */
async function orEnded<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  return orAborted(work, signal).catch((error: unknown) => {
    throw error === signal.reason && isTimeout(error) ? ProvidersFailed({ cause: error }) : error;
  });
}

/** Calls a provider, or waits for a call that is under way. */
function refresh(
  services: Dependencies,
  wanted: Place & Wanted,
  seen: CatalogRow | undefined,
): Promise<Catalog | undefined> {
  const key = `${wanted.tenantId} ${wanted.task}`;
  return underWay(services.database)(key, () => refreshOnce(services, wanted, seen));
}

async function refreshOnce(
  services: Dependencies,
  wanted: Place & Wanted,
  seen: CatalogRow | undefined,
): Promise<Catalog | undefined> {
  const { tenantId, task } = wanted;
  const claim = claimRefresh({
    tenantId,
    task,
    seenFetchedAt: seen?.fetched_at ?? null,
    seenFailures: seen?.failures ?? 0,
  });
  const claimed = await services.database.tenant(tenantId).interactive.first(claim);
  return claimed === undefined ? waitForOther(services, wanted) : ask(services, wanted, seen);
}

async function ask(services: Dependencies, wanted: Place & Wanted, seen: CatalogRow | undefined): Promise<Catalog> {
  const { tenantId, task, caller, signal } = wanted;
  const { failures } = seen ?? { failures: 0 };
  const had = seen !== undefined && isUsable(seen, wanted) ? seen.models.length : 0;
  const db = services.database.tenant(tenantId).interactive;
  try {
    const { models, provider, source } = await fetchModels(services, {
      tenantId,
      task,
      expectsSome: isDoubtful({ had, failures }),
      caller,
      ...(signal === undefined ? {} : { signal }),
    });
    const fetchedAt = services.now().toISOString();
    await db.first(saveCatalog({ tenantId, task, models: JSON.stringify(models), provider, source, fetchedAt }));
    const free = { lease_until: null, retry_at: null, failures: 0 };
    return { tenant_id: tenantId, task, models, provider, source, fetched_at: fetchedAt, ...free };
  } catch (error) {
    const retryAt = new Date(services.now().getTime() + pauseAfter(failures + 1)).toISOString();
    const failed = isOfProvider(error) ? { failures: failures + 1, retryAt } : { failures, retryAt: null };
    await db.first(noteFailure({ tenantId, task, ...failed }));
    throw error;
  }
}

/** Sets the backoff after a failure. */
function isOfProvider(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === ProvidersFailed.code || error.details?.['code'] === ProvidersRefused.reason;
}

/** Waits for the refresh of another process until it ends or its lease expires. */
async function waitForOther({ database }: Dependencies, { tenantId, task }: Place): Promise<undefined> {
  const db = database.tenant(tenantId);
  const giveUp = AbortSignal.timeout(leaseMs);
  while (!giveUp.aborted) {
    const row = await db.first(findRefresh({ tenantId, task }));
    if (row === undefined || row.lease_until === null) return;
    await sleep(lookAgainMs);
  }
}
