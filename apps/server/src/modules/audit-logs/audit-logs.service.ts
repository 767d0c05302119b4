import { Readable } from 'node:stream';

import type { Actor } from '#core/base/access/principal';
import { processPermits } from '#core/base/concurrency/semaphore';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { csvLine, csvRecord } from '#core/http/csv';
import type { Stream } from '#core/http/downloads';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { ExportRunning, ExportsRunning } from '#modules/audit-logs/audit-logs.errors';
import {
  countAuditLogs,
  listAuditLogs,
  nextAuditLogs,
  type AuditLogFilters,
  type AuditLogRow,
  type ChainedRow,
} from '#modules/audit-logs/audit-logs.queries';
import type { ExportAuditLogsQuery, ListAuditLogsQuery } from '#modules/audit-logs/audit-logs.schemas';

type Reader = { db: TenantDb; services: Pick<Services, 'auditGroups'>; setHeader: SetHeader };
type Exporter = { db: TenantDb; actor: Actor; now: Date; signal: AbortSignal };

const pieceSize = 1000;
/** Concurrent exports of one process, one per tenant; an export holds one page in memory and no connection while it is sent. */
const maxExports = 64;
/** Longest time between the timestamp of a row and its commit: duration of a request plus clock differences. */
const settlingMs = 60_000;

export async function searchAuditLogs({ db, services, setHeader }: Reader, query: ListAuditLogsQuery) {
  // A caller that reads directly after a call must find it.
  await services.auditGroups.settled(db.tenantId);
  const { limit = 50, offset = 0, sort = '-created_at' } = query;
  const filters = toFilters(query);
  const { rows, ...total } = await pageOfMatches(
    db,
    listAuditLogs(db.tenantId, filters, { limit, offset, descending: sort.startsWith('-') }),
    countAuditLogs(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentAuditLog), { limit, offset }, total, setHeader);
}

function toFilters(query: Omit<ExportAuditLogsQuery, 'format'>): AuditLogFilters {
  return {
    userId: query.user_id,
    action: query.action,
    resourceType: query.resource_type,
    resourceId: query.resource_id,
    ipAddress: query.ip_address,
    from: query.from,
    to: query.to,
  };
}

function presentAuditLog(row: AuditLogRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    user_id: row.user_id,
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    details: row.details,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    created_at: row.created_at,
  };
}

/**
 * Streams matching events that are older than a minute, oldest first, as fast as the client reads: no event may be committed before a
 * position that was already read. The export is recorded before its first row is sent.
 * @throws ExportRunning while another export of the tenant runs in this process; ExportsRunning at the limit of concurrent exports.
 */
export async function exportAuditLogs(
  { db, actor, now, signal }: Exporter,
  { format = 'csv', ...query }: ExportAuditLogsQuery,
): Promise<Stream> {
  const release = processPermits.acquireNow(
    { key: `export:${db.tenantId}`, max: 1, refusal: ExportRunning },
    { key: 'exports of trails', max: maxExports, refusal: ExportsRunning },
  );
  try {
    const at = now.toISOString();
    const details = { format, fields: Object.keys(query) };
    const event = { action: 'audit_logs.exported', resourceType: 'audit_logs', details };
    await db.interactive.all(auditEvent(actor, at, event));
    const filters = { ...toFilters(query), to: earlier(query.to, new Date(now.getTime() - settlingMs)) };
    return {
      name: `audit-logs-${at.slice(0, 10)}.${format}`,
      contentType: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
      open: () => {
        const source = Readable.from(untilEnd(linesOf({ db, signal }, filters, format), release), {
          objectMode: false,
        });
        // A generator that never started does not run its `finally` block.
        return source.once('close', release);
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

function earlier(to: string | undefined, latest: Date): string {
  return to !== undefined && Date.parse(to) < latest.getTime() ? to : latest.toISOString();
}

/** Calls `ended` before the reader learns of the end, so that the reader can start a new export at once. */
async function* untilEnd(lines: AsyncIterable<Buffer>, ended: () => void) {
  try {
    yield* lines;
  } finally {
    ended();
  }
}

async function* linesOf(
  { db, signal }: Pick<Exporter, 'db' | 'signal'>,
  filters: AuditLogFilters,
  format: 'csv' | 'ndjson',
) {
  const isCsv = format === 'csv';
  if (isCsv) yield Buffer.from(csvLine(columns));
  let after: ChainedRow | undefined;
  for (;;) {
    signal.throwIfAborted();
    const rows = await db.interactive.all(nextAuditLogs(db.tenantId, filters, { after, limit: pieceSize }));
    const lines = rows.map((row) => (isCsv ? toCsv(presentChained(row)) : `${JSON.stringify(presentChained(row))}\n`));
    if (rows.length > 0) yield Buffer.from(lines.join(''));
    after = rows.at(-1);
    if (rows.length < pieceSize) return;
  }
}

/** With the position in its chain, for comparison with a head that was stored elsewhere. */
function presentChained(row: ChainedRow) {
  return {
    ...presentAuditLog(row),
    chain_slot: row.chain_slot,
    chain_position: row.chain_position,
    chain_hash: row.chain_hash?.toString('hex') ?? null,
  };
}

const columns = [
  'id',
  'tenant_id',
  'created_at',
  'user_id',
  'action',
  'resource_type',
  'resource_id',
  'details',
  'ip_address',
  'user_agent',
  'chain_slot',
  'chain_position',
  'chain_hash',
] as const satisfies readonly (keyof ReturnType<typeof presentChained>)[];

function toCsv(row: ReturnType<typeof presentChained>): string {
  return csvRecord(columns.map((name) => row[name]));
}
