import { processPermits } from '#core/base/concurrency/semaphore';
import type { TenantDb } from '#core/data/db/scopes';
import { PeriodInvalid, VerificationRunning, VerificationsRunning } from '#modules/audit-logs/audit-logs.errors';
import type { VerifyAuditLogsQuery } from '#modules/audit-logs/audit-logs.schemas';
import { beginning, inspectLinks, missingBetween, type Problem, type Reached } from '#modules/audit-logs/chain.rules';
import {
  checkSpan,
  findTenantBirth,
  listChains,
  listLinks,
  listStrays,
  listUnchained,
  type ChainState,
} from '#modules/audit-logs/chains.queries';

type Window = { from: number; to: number };
type Verifier = { db: TenantDb; signal: AbortSignal };
type Walk = Verifier & { window: Window; problems: Problem[]; checked: number };

const maxProblems = 100;
/** Concurrent verifications of one process; each keeps one of the few connections busy that writes need too. */
const maxVerifications = 2;
const spanLength = 2000;
/** Order of rows in a chain may differ from their times by the duration of a request plus clock differences. */
const marginMs = 15 * 60_000;
/** During a rolling restart, a version without chains may still write. */
const replacementMs = 60 * 60_000;
/** A tenant whose first row is in a chain this soon after its creation has always had chains. */
const birthMs = 60_000;

/**
 * Recomputes the hash chains of a tenant up to their heads at the start. Returns the first 100 problems; `isComplete` says whether
 * all rows were checked.
 * @throws VerificationRunning while another verification of the tenant runs in this process; VerificationsRunning at the limit of
 * concurrent verifications; the reason of the signal after it is aborted.
 */
export async function verifyAuditLogs({ db, signal }: Verifier, query: VerifyAuditLogsQuery) {
  const window = toWindow(query);
  const release = processPermits.acquireNow(
    { key: `verify:${db.tenantId}`, max: 1, refusal: VerificationRunning },
    { key: 'verifications', max: maxVerifications, refusal: VerificationsRunning },
  );
  try {
    const chains = await db.interactive.all(listChains(db.tenantId));
    const walk: Walk = { db, signal, window, problems: [], checked: 0 };
    for (const chain of chains) {
      if (walk.problems.length < maxProblems) await verifyChain(walk, chain);
    }
    await findUnchained(walk, chains);
    const { problems, checked } = walk;
    const data = {
      valid: problems.length === 0,
      isComplete: problems.length < maxProblems,
      checked,
      from: query.from ?? null,
      to: query.to ?? null,
      chains: chains.flatMap(({ slot, length, head }) => (head === null ? [] : [{ slot, length, head }])),
      problems: problems.slice(0, maxProblems),
    };
    return { data };
  } finally {
    release();
  }
}

function toWindow({ from, to }: VerifyAuditLogsQuery): Window {
  const window = {
    from: from === undefined ? -Infinity : Date.parse(from),
    to: to === undefined ? Infinity : Date.parse(to),
  };
  if (window.from >= window.to) throw PeriodInvalid();
  return window;
}

async function verifyChain(walk: Walk, chain: ChainState): Promise<void> {
  const { slot, length, head } = chain;
  const { problems, window } = walk;
  problems.push(...findOutside(chain));
  const upTo = Math.min(chain.last_position ?? 0, length);
  const start = Number.isFinite(window.from) ? await findBefore(walk, chain, window.from - marginMs) : 0;
  const end = Number.isFinite(window.to) ? await findBehind(walk, chain, window.to + marginMs) : upTo;
  const reached = await walkChain(walk, chain, { start, upTo: end });
  // If rows follow the window, the end of the chain is outside of it.
  if (problems.length >= maxProblems || reached.position < upTo) return;
  if (upTo < length) problems.push(missingBetween(slot, upTo, length + 1));
  else if (head !== null && reached.hashes.length > 0 && !reached.hashes.includes(head)) {
    problems.push({ type: 'head', slot, position: length, count: 1, id: null });
  }
}

/** Rows that name a chain, but are not among the rows that its head covers. */
function findOutside({ slot, length, head, last_position: last, unplaced_id: id }: ChainState): Problem[] {
  const unplaced: Problem[] = id === null ? [] : [{ type: 'inserted', slot, position: null, count: 1, id }];
  if (last === null || last <= length) return unplaced;
  if (head === null) return [...unplaced, { type: 'head', slot, position: null, count: last, id: null }];
  return [...unplaced, { type: 'inserted', slot, position: length + 1, count: last - length, id: null }];
}

async function walkChain(walk: Walk, { slot }: ChainState, { start, upTo }: { start: number; upTo: number }) {
  const { tenantId, interactive } = walk.db;
  walk.signal.throwIfAborted();
  let reached = await reachedAt(walk, slot, start);
  while (reached.position < upTo && walk.problems.length < maxProblems) {
    walk.signal.throwIfAborted();
    const span = { tenantId, slot, after: reached.position, upTo: Math.min(reached.position + spanLength, upTo) };
    const hash = reached.hashes[0] ?? null;
    const checked = await interactive.first(checkSpan(span, hash, spanLength + 1));
    if (checked!.is_whole === true && checked!.rows === span.upTo - span.after) {
      walk.checked += checked!.rows;
      reached = { position: span.upTo, hashes: [checked!.last_hash!] };
      continue;
    }
    reached = await inspectSpan(walk, { ...span, upTo }, reached);
  }
  return reached;
}

// A broken span is checked row by row, up to the next existing row at any distance.
async function inspectSpan(walk: Walk, span: Parameters<typeof listLinks>[0], reached: Reached): Promise<Reached> {
  const rows = await walk.db.interactive.all(listLinks(span, 2 * spanLength));
  const links = rows.map((row) => ({ ...row, hash: row.hash ?? '' }));
  walk.checked += links.length;
  const found = inspectLinks(span.slot, links, reached);
  walk.problems.push(...found.problems);
  if (links.length > 0) return found.reached;
  walk.problems.push(missingBetween(span.slot, reached.position, span.upTo + 1));
  return { position: span.upTo, hashes: [] };
}

async function reachedAt({ db }: Walk, slot: number, position: number): Promise<Reached> {
  if (position === 0) return beginning;
  const row = await db.interactive.first(
    listLinks({ tenantId: db.tenantId, slot, after: position - 1, upTo: position }, 1),
  );
  return { position, hashes: row === undefined ? [] : [row.hash ?? ''] };
}

/** The last position of the chain with a row before a time; found by bisection, because no index maps times to positions. */
async function findBefore({ db }: Walk, chain: ChainState, before: number): Promise<number> {
  const { slot, length, last_position: last } = chain;
  let [low, high] = [0, Math.min(last ?? 0, length)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const span = { tenantId: db.tenantId, slot, after: middle, upTo: high };
    const row = await db.interactive.first(listLinks(span, 1));
    if (row !== undefined && Date.parse(row.created_at) < before) low = row.position;
    else high = middle;
  }
  return low;
}

/** The next position after the window, or the end: only it shows rows that were deleted at the end of the window. */
async function findBehind(walk: Walk, chain: ChainState, before: number): Promise<number> {
  const upTo = Math.min(chain.last_position ?? 0, chain.length);
  const after = await findBefore(walk, chain, before);
  const next = await walk.db.interactive.first(
    listLinks({ tenantId: walk.db.tenantId, slot: chain.slot, after, upTo }, 1),
  );
  return next?.position ?? upTo;
}

async function findUnchained({ db, window, problems }: Walk, chains: readonly ChainState[]): Promise<void> {
  const { tenantId } = db;
  const strays = await db.interactive.all(listStrays(tenantId, maxProblems));
  problems.push(...strays.map(({ id, slot }): Problem => ({ type: 'inserted', slot, position: null, count: 1, id })));
  const times = chains.flatMap(({ first_at: at }) => (at === null ? [] : [Date.parse(at)]));
  if (times.length === 0) return;
  const birth = Date.parse((await db.interactive.first(findTenantBirth(tenantId)))!.created_at);
  const first = Math.min(...times);
  const isOlder = first - birth > birthMs;
  const since = Math.max(window.from, isOlder ? first + replacementMs : -Infinity);
  const from = Number.isFinite(since) ? new Date(since).toISOString() : null;
  const to = Number.isFinite(window.to) ? new Date(window.to).toISOString() : null;
  const rows = await db.interactive.all(listUnchained(tenantId, { from, to }, maxProblems));
  problems.push(...rows.map(({ id }): Problem => ({ type: 'inserted', slot: null, position: null, count: 1, id })));
}
