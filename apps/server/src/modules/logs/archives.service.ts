import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

import type { Actor, Person } from '#core/base/access/principal';
import { processPermits } from '#core/base/concurrency/semaphore';
import { auditForSystem } from '#core/data/audit/system-trail';
import { exactTotalLimit, totalOfPage, withTotal } from '#core/data/db/totals';
import { ObjectMissing } from '#core/data/files/object-store';
import type { Download } from '#core/http/downloads';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  countStoredArchives,
  deleteArchiveRow,
  findStoredArchive,
  listStoredArchives,
  type StoredArchive,
} from '#modules/logs/archives.queries';
import { matchesLine, type LineFilters } from '#modules/logs/line-filters';
import { ArchiveNotFound, SearchesRunning } from '#modules/logs/logs.errors';
import type { ListArchivesQuery, LogRecord, SearchArchiveQuery } from '#modules/logs/logs.schemas';

type Dependencies = Pick<Services, 'database' | 'files' | 'now'>;

type Reader = { services: Dependencies; setHeader: SetHeader };

/** Each search decompresses a file, which keeps a core busy. */
const maxSearches = 2;

/** Complete archive files, latest day first. */
export async function listArchives({ services, setHeader }: Reader, { limit = 50, offset = 0 }: ListArchivesQuery) {
  const db = services.database.platform();
  const stored = await db.interactive.all(listStoredArchives({ limit, offset }));
  const { rows, ...total } = await withTotal(db, stored, countStoredArchives(), { limit, offset });
  return toPage(rows.map(presentArchive), { limit, offset }, total, setHeader);
}

function presentArchive(row: StoredArchive) {
  return {
    name: row.name,
    path: `/api/v1/system/logs/archives/${row.name}`,
    day: row.day,
    size: row.size_bytes,
    recordCount: row.record_count,
    createdAt: row.created_at,
  };
}

/** @throws ArchiveNotFound */
export async function downloadArchive(services: Dependencies, name: string): Promise<Download> {
  const archive = await getArchive(services, name);
  return {
    name,
    contentType: 'application/gzip',
    sizeBytes: archive.size_bytes,
    etag: archive.id,
    open: (range) => openArchive(services, archive, range),
  };
}

/** Matching lines of a file, in order of time. @throws ArchiveNotFound, SearchesRunning; the reason of the signal */
export async function searchArchive(
  { services, setHeader, signal }: Reader & { signal: AbortSignal },
  name: string,
  query: SearchArchiveQuery,
) {
  const archive = await getArchive(services, name);
  const release = processPermits.acquireNow({ key: 'archive searches', max: maxSearches, refusal: SearchesRunning });
  try {
    const { limit = 50, offset = 0, ...filters } = query;
    const found = await findLines(services, { archive, filters, limit, offset, signal });
    const total = totalOfPage(found.matches, { limit, offset, rowCount: found.lines.length });
    return toPage(found.lines, { limit, offset }, total, setHeader);
  } finally {
    release();
  }
}

type Search = { archive: StoredArchive; filters: LineFilters; limit: number; offset: number; signal: AbortSignal };

/** Reads beyond the page up to the limit of exact totals. */
async function findLines(services: Dependencies, { archive, filters, limit, offset, signal }: Search) {
  const lines: LogRecord[] = [];
  let matches = 0;
  const source = await openArchive(services, archive);
  const unpacked = createGunzip();
  // `pipe` does not forward errors, and a reader that has enough lines must also end the source.
  source.on('error', (error) => unpacked.destroy(error));
  unpacked.on('close', () => source.destroy());
  try {
    for await (const text of createInterface({ input: source.pipe(unpacked), crlfDelay: Infinity })) {
      signal.throwIfAborted();
      const line = JSON.parse(text) as LogRecord;
      if (!matchesLine(line, filters)) continue;
      matches += 1;
      if (matches > offset && lines.length < limit) lines.push(line);
      if (matches > exactTotalLimit && lines.length === limit) break;
    }
  } finally {
    unpacked.destroy();
  }
  return { lines, matches: Math.min(matches, exactTotalLimit + 1) };
}

/** @throws ArchiveNotFound */
export async function deleteArchive(
  { services, actor }: { services: Dependencies; actor: Actor<Person> },
  name: string,
) {
  const { id, object_key: key } = await getArchive(services, name);
  // The bytes first: a row without bytes is found again, bytes without a row are not.
  await services.files.delete(key);
  await services.database.platform().transaction(async (tx) => {
    if ((await tx.first(deleteArchiveRow({ name }))) === undefined) throw ArchiveNotFound();
    const event = { action: 'log_archive.deleted', resourceType: 'log_archive', resourceId: id, details: { name } };
    await auditForSystem(tx, actor, services.now().toISOString(), event);
  });
  return { data: { message: 'The archive was deleted.', deleted: true } };
}

async function getArchive({ database }: Dependencies, name: string): Promise<StoredArchive> {
  const row = await database.platform().first(findStoredArchive({ name }));
  if (row === undefined) throw ArchiveNotFound();
  return row;
}

/** The operator may have removed a file from the store. */
async function openArchive(
  services: Dependencies,
  { object_key }: StoredArchive,
  range?: { start: number; end: number },
) {
  try {
    return await services.files.get(object_key, range);
  } catch (error) {
    throw error instanceof ObjectMissing ? ArchiveNotFound({ cause: error }) : error;
  }
}
