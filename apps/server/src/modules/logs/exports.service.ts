import type { Actor, Person } from '#core/base/access/principal';
import { processPermits } from '#core/base/concurrency/semaphore';
import { newId, newRandomId } from '#core/base/crypto/ids';
import { auditForSystem } from '#core/data/audit/system-trail';
import { pauseAfter } from '#core/data/background/pause';
import type { Transaction } from '#core/data/db/scopes';
import { isOutOfRoom, StoreFull } from '#core/data/files/object-store';
import { levelNumbers } from '#core/data/log/log-config';
import { csvLine, csvRecord } from '#core/http/csv';
import type { Download } from '#core/http/downloads';
import type { Services } from '#core/platform/services';
import {
  completeExport,
  deleteExportRow,
  findStoredExport,
  insertExport,
  listDeadExports,
  listStoredExports,
  type LogExportRow,
  type StoredExport,
} from '#modules/logs/exports.queries';
import { linesInOrder } from '#modules/logs/lines-in-order';
import { ExportNotFound, ExportsRunning, ExportTooLarge, PeriodInvalid } from '#modules/logs/logs.errors';
import type { LogFilters } from '#modules/logs/logs.queries';
import type { ExportBody, LogRecord } from '#modules/logs/logs.schemas';
import { presentLog } from '#modules/logs/logs.service';
import { storeText } from '#modules/logs/stored-files';

type Dependencies = Pick<Services, 'database' | 'files' | 'log' | 'logging' | 'now' | 'requestCounts'>;

type Changer = { services: Dependencies; actor: Actor<Person> };
type Exporter = Changer & { signal: AbortSignal };
type Format = 'json' | 'csv';

const dayMs = 24 * 60 * 60_000;
const keptMs = 7 * dayMs;
const limits = { records: 250_000, bytes: 512 * 1024 ** 2, listed: 1000, running: 2 };

/** @throws PeriodInvalid, ExportTooLarge, ExportsRunning; the reason of the signal once it is aborted */
export async function exportLogs(exporter: Exporter, body: ExportBody) {
  // All exports of a process share its disk and connections.
  const release = processPermits.acquireNow({ key: 'log exports', max: limits.running, refusal: ExportsRunning });
  try {
    return await writeExport(exporter, body);
  } finally {
    release();
  }
}

/** The row comes first, so that an interrupted export leaves no unknown file. */
async function writeExport({ services, actor, signal }: Exporter, body: ExportBody) {
  const { format = 'json' } = body;
  const at = services.now();
  const filters = toFilters(body, at);
  await services.logging.flush();
  const [id, name] = [newId(), nameOf(at, format)];
  const expiresAt = new Date(at.getTime() + keptMs).toISOString();
  const db = services.database.platform();
  await db.interactive.all(insertExport({ name, id, by: actor.userId, at: at.toISOString(), expiresAt }));
  try {
    const written = await store(services, { name, format, filters, signal });
    await db.transaction(async (tx) => {
      await tx.first(completeExport({ name, ...written }));
      await record(
        tx,
        { services, actor },
        { id, action: 'log_export.created', details: { fields: Object.keys(body) } },
      );
    });
    return { data: { message: 'The log was exported.', path: pathOf(name), ...written } };
  } catch (error) {
    await removeBroken(services, name).catch((failure: unknown) =>
      services.log.warn({ err: failure, export: name }, 'a failed export is left to the clean-up job'),
    );
    throw isOutOfRoom(error) ? StoreFull({ cause: error }) : error;
  }
}

/** Removes the row first: its completion may be unknown, and only complete files may be listed. */
async function removeBroken(services: Dependencies, name: string): Promise<void> {
  await services.database.platform().interactive.all(deleteExportRow({ name }));
  await services.files.delete(keyOf(name));
}

function toFilters({ startTime, endTime, tenantId, level }: ExportBody, now: Date): LogFilters {
  // Limited to lines up to this moment; otherwise an export of a busy installation would never end.
  const to = new Date(Math.min(now.getTime() + 1, endTime === undefined ? Infinity : Date.parse(endTime)));
  const from = startTime === undefined ? new Date(to.getTime() - dayMs) : new Date(startTime);
  if (from > to) throw PeriodInvalid();
  const levels = level === undefined ? undefined : [levelNumbers[level]];
  return { from: from.toISOString(), to: to.toISOString(), tenantId, levels };
}

// Consists only of [a-z0-9.-] and of no user input.
function nameOf(at: Date, format: Format): string {
  const time = at.toISOString().toLowerCase().replaceAll(/[:.]/g, '-');
  return `logs-${time}-${newRandomId().replaceAll('-', '').slice(0, 12)}.${format}`;
}

const pathOf = (name: string) => `/api/v1/system/logs/exports/${name}`;
const keyOf = (name: string) => `exports/${name}`;

type Job = { name: string; format: Format; filters: LogFilters; signal: AbortSignal };

async function store(services: Dependencies, { name, format, filters, signal }: Job) {
  const written = { recordCount: 0, sizeBytes: 0 };
  const text = counted(textOf(services, { format, filters, signal, written }), written);
  await storeText({ files: services.files, key: keyOf(name) }, text);
  return written;
}

type Written = { recordCount: number; sizeBytes: number };

async function* counted(text: AsyncIterable<string>, written: Written) {
  for await (const part of text) {
    written.sizeBytes += Buffer.byteLength(part);
    if (written.sizeBytes > limits.bytes || written.recordCount > limits.records) throw ExportTooLarge();
    yield part;
  }
}

async function* textOf(
  { database, requestCounts }: Dependencies,
  { format, filters, signal, written }: Omit<Job, 'name'> & { written: Written },
) {
  const isCsv = format === 'csv';
  yield isCsv ? csvHead : '[';
  const lines = linesInOrder(
    database.platform().interactive,
    filters,
    // A caller waits for the file, but other requests have priority.
    { signal, pause: (startedAt) => pauseAfter(startedAt, requestCounts.lately()) },
  );
  for await (const rows of lines) {
    const between = written.recordCount === 0 ? '\n' : ',\n';
    written.recordCount += rows.length;
    const records = rows.map(presentLog);
    yield isCsv ? records.map(toCsv).join('') : between + records.map((one) => JSON.stringify(one)).join(',\n');
  }
  if (!isCsv) yield '\n]\n';
}

const csvColumns = [
  'id',
  'timestamp',
  'level',
  'message',
  'service',
  'tenantId',
  'userId',
  'requestId',
  'context',
] as const satisfies readonly (keyof LogRecord)[];

const csvHead = csvLine(csvColumns);

function toCsv(line: LogRecord): string {
  return csvRecord(csvColumns.map((name) => line[name]));
}

export async function listExports(services: Dependencies) {
  const now = services.now().toISOString();
  const rows = await services.database.platform().all(listStoredExports({ now, max: limits.listed }));
  const data = rows.map(({ name, size_bytes: size, created_at: createdAt }) => {
    return { name, path: pathOf(name), size, createdAt };
  });
  return { data };
}

export async function downloadExport(services: Dependencies, name: string): Promise<Download> {
  const { id, size_bytes: sizeBytes } = await getExport(services, name);
  return {
    name,
    contentType: name.endsWith('.csv') ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8',
    sizeBytes,
    etag: id,
    open: (range) => services.files.get(keyOf(name), range),
  };
}

export async function deleteExport({ services, actor }: Changer, name: string) {
  const { id } = await getExport(services, name);
  // The bytes first: a row without bytes is found again, bytes without a row are not.
  await services.files.delete(keyOf(name));
  await services.database.platform().transaction(async (tx) => {
    if ((await tx.first(deleteExportRow({ name }))) === undefined) throw ExportNotFound();
    await record(tx, { services, actor }, { id, action: 'log_export.deleted', details: {} });
  });
  return { data: { message: 'The export was deleted.', deleted: true } };
}

async function getExport({ database, now }: Dependencies, name: string): Promise<StoredExport> {
  const row = await database.platform().first(findStoredExport({ name, now: now().toISOString() }));
  if (row === undefined) throw ExportNotFound();
  return row;
}

type Entry = { id: string; action: string; details: Record<string, unknown> };

async function record(tx: Transaction, { services, actor }: Changer, { id, action, details }: Entry): Promise<void> {
  const event = { action, resourceType: 'log_export', resourceId: id, details };
  await auditForSystem(tx, actor, services.now().toISOString(), event);
}

/** Removes expired exports and the incomplete files of killed processes. */
export async function removeDeadExports(services: Dependencies, signal: AbortSignal): Promise<void> {
  const at = services.now().getTime();
  const range = { now: new Date(at).toISOString(), begunBefore: new Date(at - 60 * 60_000).toISOString() };
  const dead: LogExportRow[] = await services.database
    .platform()
    .interactive.all(listDeadExports({ ...range, max: 1000 }));
  for (const { name } of dead) {
    signal.throwIfAborted();
    await remove(services, name);
  }
}

async function remove(services: Dependencies, name: string): Promise<void> {
  await services.files.delete(keyOf(name));
  await services.database.platform().interactive.all(deleteExportRow({ name }));
}
