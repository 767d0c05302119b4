import { Readable } from 'node:stream';

import type { Actor } from '#core/access/principal';
import { auditEvent } from '#core/audit/audit.queries';
import { takePlace } from '#core/background/places';
import type { TenantDb } from '#core/db/scopes';
import { pageOfMatches } from '#core/db/totals';
import { csvLine } from '#core/http/csv';
import type { Stream } from '#core/http/downloads';
import { toPage } from '#core/http/paging';
import { ExportRunning } from '#modules/audit-logs/audit-logs.errors';
import {
  countAuditLogs,
  listAuditLogs,
  nextAuditLogs,
  type AuditLogFilters,
  type AuditLogRow,
  type ChainedRow,
} from '#modules/audit-logs/audit-logs.queries';
import type { ExportAuditLogsQuery, ListAuditLogsQuery } from '#modules/audit-logs/audit-logs.schemas';

type Reader = { db: TenantDb; setHeader(name: string, value: string): void };
type Exporter = { db: TenantDb; actor: Actor; now: Date };

const pieceSize = 1000;

export async function searchAuditLogs({ db, setHeader }: Reader, query: ListAuditLogsQuery) {
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
 * All that matches, the oldest first, read as fast as it is taken. That somebody exports is in the trail before the first row
 * leaves.
 * @throws ExportRunning while another export of the tenant runs in this process.
 */
export async function exportAuditLogs(
  { db, actor, now }: Exporter,
  { format = 'csv', ...query }: ExportAuditLogsQuery,
): Promise<Stream> {
  const release = takePlace(`export:${db.tenantId}`, 1, ExportRunning);
  try {
    const at = now.toISOString();
    const details = { format, fields: Object.keys(query) };
    const event = { action: 'audit_logs.exported', resourceType: 'audit_logs', details };
    await db.slow.all(auditEvent(actor, at, event));
    const filters = { ...toFilters(query), to: earlier(query.to, at) };
    return {
      name: `audit-logs-${at.slice(0, 10)}.${format}`,
      contentType: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
      open: () => {
        const source = Readable.from(untilEnd(linesOf(db, filters, format), release), { objectMode: false });
        // A generator that was never begun has no end of its own.
        return source.once('close', release);
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

// No later than now, or an export would chase its own end.
function earlier(to: string | undefined, now: string): string {
  return to !== undefined && Date.parse(to) < Date.parse(now) ? to : now;
}

/** Calls `ended` before whoever reads learns of the end, so that they may begin anew at once. */
async function* untilEnd(lines: AsyncIterable<Buffer>, ended: () => void) {
  try {
    yield* lines;
  } finally {
    ended();
  }
}

async function* linesOf(db: TenantDb, filters: AuditLogFilters, format: 'csv' | 'ndjson') {
  const isCsv = format === 'csv';
  if (isCsv) yield Buffer.from(csvLine(columns));
  let after: ChainedRow | undefined;
  for (;;) {
    const rows = await db.slow.all(nextAuditLogs(db.tenantId, filters, { after, limit: pieceSize }));
    const lines = rows.map((row) => (isCsv ? toCsv(presentChained(row)) : `${JSON.stringify(presentChained(row))}\n`));
    if (rows.length > 0) yield Buffer.from(lines.join(''));
    after = rows.at(-1);
    if (rows.length < pieceSize) return;
  }
}

/** With its place in a chain, so that a head that was kept elsewhere can be compared. */
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
  const fields = columns.map((name) => row[name]);
  return csvLine(
    fields.map((value) => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value))),
  );
}
