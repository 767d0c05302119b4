import { createFairTurns } from '#core/base/concurrency/fair-semaphore';
import { newId } from '#core/base/crypto/ids';
import type { Services } from '#core/platform/services';
import { claimJob, endJob, findHeldJob } from '#modules/translation/jobs/jobs.queries';
import { workOn, type Left } from '#modules/translation/jobs/worker';

type Dependencies = Pick<
  Services,
  'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound' | 'queue' | 'runtimeSettings'
>;

export type Named = { tenantId: string; jobId: string };

/** Queue of the task that continues a job. */
export const jobsWork = 'translation-jobs';
/** Jobs of a process that translate at once, a few batches at a time. */
const maxTranslating = 2;
const batchesAtOnce = 5;
/** After so many times, or so long, another job may be worked on instead. */
const timesInRow = 20;
const maxMs = 10 * 60_000;
const pausesMs = [500, 2000];
export const waitMs = 5000;
const unexpected = 'Something unexpected happened. The job can be resumed.';

/** Continues a job in the background, in any process, after `pauseMs` at the earliest. */
export async function sendJob(
  { queue, now }: Pick<Services, 'queue' | 'now'>,
  { tenantId, jobId }: Named,
  pauseMs = 0,
): Promise<void> {
  const later = pauseMs === 0 ? {} : { startAfter: new Date(now().getTime() + pauseMs) };
  await queue.send(jobsWork, { tenantId, jobId }, { key: jobId, ...later });
}

const inShares = createFairTurns(maxTranslating);

type Turn = { services: Dependencies; data: Named; signal: AbortSignal; isLast: boolean };

/** Tenants take equal shares: one with many records must not have the few of another wait until it is done. */
export async function workInShares(turn: Turn): Promise<void> {
  const { services, data } = turn;
  const endsAt = services.now().getTime() + maxMs;
  for (let count = 1; ; count++) {
    const left = await inShares({ tenant: data.tenantId, principal: data.jobId }, () => goOn(turn, endsAt));
    if (left?.job.status !== 'running') return;
    if (left.pauseMs > 0 || count === timesInRow || services.now().getTime() >= endsAt)
      return sendJob(services, data, left.pauseMs);
  }
}

/** Undefined where others work on the job, or nothing is to be done. */
async function goOn({ services, data, signal, isLast }: Turn, endsAt: number): Promise<Left | undefined> {
  signal.throwIfAborted();
  const claim = newId();
  const db = services.database.tenant(data.tenantId);
  const own = { tenantId: data.tenantId, id: data.jobId, claim };
  const job = await db.interactive.first(claimJob(own));
  if (job === undefined) {
    await waitForOthers(services, data);
    return undefined;
  }
  const scope = {
    services,
    db,
    operation: 'translation.entity_type' as const,
    caller: { userId: job.created_by, requestId: null },
    begin: () => Promise.resolve(),
  };
  const left = await workOn({
    scope,
    signal,
    job,
    claim,
    batches: batchesAtOnce,
    maxMs: Math.max(0, endsAt - services.now().getTime()),
    pausesMs,
  }).catch((error: unknown) => giveUp(error, { services, own, isLast }));
  // Given back, it is gone on with at once.
  signal.throwIfAborted();
  return left;
}

/** Another process holds the lease, which ends soon if that process has died. */
async function waitForOthers(services: Dependencies, { tenantId, jobId }: Named): Promise<void> {
  const held = await services.database.tenant(tenantId).first(findHeldJob({ tenantId, id: jobId }));
  if (held !== undefined) await sendJob(services, { tenantId, jobId }, waitMs);
}

type GivingUp = { services: Dependencies; own: { tenantId: string; id: string; claim: string }; isLast: boolean };

async function giveUp(error: unknown, { services, own, isLast }: GivingUp): Promise<Left> {
  if (isLast) {
    const db = services.database.tenant(own.tenantId);
    // Claimed again: a failure returns the claim.
    await db.interactive.first(claimJob(own));
    await db.interactive.first(
      endJob({ ...own, status: 'failed', error: unexpected, at: services.now().toISOString() }),
    );
  }
  throw error;
}
