import { chownSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

import type { Cluster } from './cluster.ts';

const mebibyte = 1024 * 1024;
/** Below it writes stop: PostgreSQL dies when its write-ahead log, which grows by 16 MiB, finds no room. */
const minFreeBytes = 64 * mebibyte;
/** With this much space writes resume; above the minimum, so that the state does not alternate. */
const ampleFreeBytes = 96 * mebibyte;
const lookMs = 1000;

const readOnlyLine = "default_transaction_read_only = 'on'";

export type RoomWatch = {
  cluster: Cluster;
  onLine: (line: string) => void;
  /** Has the server read its configuration again. */
  reload: () => void;
  signal: AbortSignal;
};

/**
 * Keeps the database readable on a disk that fills: new transactions are read-only until there is room again, so that the
 * write-ahead log needs hardly any.
 */
export function watchRoom(watch: RoomWatch): void {
  const { cluster, onLine, reload, signal } = watch;
  let isReadOnly = false;
  const timer = setInterval(() => void look().catch(() => undefined), lookMs).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });

  async function look(): Promise<void> {
    const freeBytes = await freeBytesOf(cluster.dir);
    const isShort = freeBytes < (isReadOnly ? ampleFreeBytes : minFreeBytes);
    if (isShort === isReadOnly || signal.aborted) return;
    setReadOnly(cluster, isShort);
    isReadOnly = isShort;
    reload();
    const free = `${Math.floor(freeBytes / mebibyte)} MiB`;
    onLine(
      isShort ? `the disk has ${free} left: the database is read-only` : `the disk has ${free} left: writes go on`,
    );
  }
}

/** The write-ahead log may lie on a disk of its own. */
async function freeBytesOf(dir: string): Promise<number> {
  const disks = await Promise.all([dir, realpathSync(join(dir, 'pg_wal'))].map((folder) => statfs(folder)));
  return Math.min(...disks.map(({ bsize, bavail }) => bsize * bavail));
}

/** In the file that `ALTER SYSTEM` writes, without a connection; the settings of an operator stay. */
export function setReadOnly({ dir, user }: Cluster, isReadOnly: boolean): void {
  const file = join(dir, 'postgresql.auto.conf');
  const before = readFileSync(file, 'utf8');
  const lines = before.split('\n').filter((line) => line !== readOnlyLine && line !== '');
  const text = [...lines, ...(isReadOnly ? [readOnlyLine] : []), ''].join('\n');
  if (text === before) return;
  const draft = `${file}.atrium`;
  writeFileSync(draft, text, { mode: 0o600 });
  if (user !== undefined) chownSync(draft, user.uid, user.gid);
  renameSync(draft, file);
}
