import { createGzip } from 'node:zlib';

import { newId } from '#core/base/crypto/ids';
import { pauseAfter } from '#core/data/background/pause';
import { ObjectMissing } from '#core/data/files/object-store';
import type { Services } from '#core/platform/services';
import {
  completeArchive,
  countLines,
  deleteArchiveRow,
  findFirstTime,
  findLine,
  insertArchive,
  listArchivesOf,
  type Day,
  type LogArchiveRow,
} from '#modules/logs/archives.queries';
import { linesInOrder } from '#modules/logs/lines-in-order';
import { archiveFolders } from '#modules/logs/logs.rules';
import { presentLog } from '#modules/logs/logs.service';
import { storeText } from '#modules/logs/stored-files';

type Dependencies = Pick<Services, 'database' | 'files' | 'log' | 'now'>;

const dayMs = 24 * 60 * 60_000;

type Archiving = { before: Date; location: string; signal: AbortSignal };

export type Archived = {
  /** Lines at or after this instant must not be purged yet. */
  before: Date;
  /** The reason if it is earlier than requested. */
  failure?: unknown;
};

/**
 * Writes each day of the log that ended before an instant to a file, unless a complete file exists; so an archiving that was killed
 * before the purge continues here. The row of a file comes first and is marked complete last, so only complete files are listed
 * and incomplete ones are found again.
 */
export async function archiveDays(services: Dependencies, { before, location, signal }: Archiving): Promise<Archived> {
  const until = new Date(startOfDay(before));
  let next = new Date(0).toISOString();
  for (;;) {
    const first = await firstTime(services, { from: next, to: until.toISOString() });
    if (first === undefined) return { before: until };
    const from = startOfDay(new Date(first));
    const day = { from: new Date(from).toISOString(), to: new Date(from + dayMs).toISOString() };
    try {
      signal.throwIfAborted();
      await archiveDay(services, day, { location, signal });
    } catch (failure) {
      return { before: new Date(from), failure };
    }
    next = day.to;
  }
}

function startOfDay(at: Date): number {
  return Math.floor(at.getTime() / dayMs) * dayMs;
}

async function firstTime({ database }: Dependencies, span: Day): Promise<string | undefined> {
  const found = await database.platform().interactive.first(findFirstTime(span));
  return found?.at ?? undefined;
}

async function archiveDay(
  services: Dependencies,
  span: Day,
  { location, signal }: Pick<Archiving, 'location' | 'signal'>,
): Promise<void> {
  const db = services.database.platform();
  const day = span.from.slice(0, 10);
  const known = await db.interactive.all(listArchivesOf({ day }));
  const names = new Set<string>();
  for (const archive of known) {
    const state = await stateOf(services, archive, span);
    if (state === 'whole') return;
    // The lines of a purged day exist only in its file.
    if (state === 'over') names.add(archive.name);
    else await removeArchive(services, archive);
  }
  const name = freeName(day, names);
  const key = ['archives', ...(archiveFolders(location) ?? []), name].join('/');
  const created_at = services.now().toISOString();
  await db.interactive.all(insertArchive({ name, id: newId(), day, object_key: key, created_at }));
  const written = await store(services, { key, span, signal });
  await db.interactive.all(completeArchive({ name, ...written }));
  services.log.info({ name, ...written }, 'a day of the log was archived');
}

/** Late lines of a day that is archived and purged get a separate file. */
function freeName(day: string, taken: ReadonlySet<string>): string {
  for (let part = 1; ; part += 1) {
    const name = `logs-${day}${part === 1 ? '' : `-${part}`}.ndjson.gz`;
    if (!taken.has(name)) return name;
  }
}

/**
 * `over`: its lines were purged from the log. `whole`: it has all lines of the day. `torn`: it is incomplete, its bytes are
 * missing, or more lines arrived since.
 */
async function stateOf(services: Dependencies, archive: LogArchiveRow, span: Day): Promise<'over' | 'whole' | 'torn'> {
  const { first_line_at: at, first_line: id } = archive;
  if (at === null || id === null) return 'torn';
  const { interactive } = services.database.platform();
  if ((await interactive.first(findLine({ at, id }))) === undefined) return 'over';
  const counted = await interactive.first(countLines(span));
  return archive.record_count === counted!.lines && (await isThere(services, archive)) ? 'whole' : 'torn';
}

/** The operator may have removed a file from the store. */
async function isThere({ files }: Dependencies, { object_key }: LogArchiveRow): Promise<boolean> {
  try {
    (await files.get(object_key)).destroy();
    return true;
  } catch (error) {
    if (error instanceof ObjectMissing) return false;
    throw error;
  }
}

/** The bytes first: a row without bytes is found again, bytes without a row are not. */
async function removeArchive(services: Dependencies, { name, object_key }: LogArchiveRow): Promise<void> {
  await services.files.delete(object_key);
  await services.database.platform().interactive.all(deleteArchiveRow({ name }));
}

type Written = Omit<Parameters<typeof completeArchive>[0], 'name'>;

async function store(
  services: Dependencies,
  { key, span, signal }: { key: string; span: Day; signal: AbortSignal },
): Promise<Written> {
  const { files } = services;
  const written: Written = { recordCount: 0, sizeBytes: 0, firstLineAt: '', firstLine: '' };
  await files.delete(key);
  written.sizeBytes = await storeText({ files, key }, linesOf(services, { span, signal, written }), createGzip());
  return written;
}

async function* linesOf(
  services: Dependencies,
  { span, signal, written }: { span: Day; signal: AbortSignal; written: Written },
) {
  const lines = linesInOrder(services.database.platform().interactive, span, { signal, pause: pauseAfter });
  for await (const rows of lines) {
    if (written.recordCount === 0) Object.assign(written, { firstLineAt: rows[0]!.logged_at, firstLine: rows[0]!.id });
    written.recordCount += rows.length;
    yield rows.map((row) => `${JSON.stringify(presentLog(row))}\n`).join('');
  }
}
