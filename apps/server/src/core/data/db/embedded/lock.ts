import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

import { EmbeddedPostgresError } from './errors.ts';
import { processStart } from './processes.ts';

export type DataDirLock = { release: () => void };

type Holder = { pid: number; start: string; id: string };

/**
 * Makes this process the only Atrium on the folder, until `release` or the end of the process.
 * Throws DATA_DIR_IN_USE while another live process holds it.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const path = `${dataDir}/atrium.lock`;
  const own: Holder = { pid: process.pid, start: processStart(process.pid) ?? '', id: crypto.randomUUID() };
  const draft = `${path}.new-${own.id}`;
  try {
    writeFileSync(draft, `${own.pid}\n${own.start}\n${own.id}\n`, { mode: 0o644 });
    take(path, draft);
  } catch (error) {
    if (!(error instanceof InUse)) throw error;
    throw new EmbeddedPostgresError(
      'DATA_DIR_IN_USE',
      `The data folder ${dataDir} is in use by another Atrium (pid ${error.pid}): stop that one or choose another DATA_DIR.`,
    );
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    release: () => {
      if (readHolder(path)?.id === own.id) rmSync(path, { force: true });
    },
  };
}

class InUse extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`in use by ${pid}`);
    this.pid = pid;
  }
}

/**
 * A stale lock is replaced only by the one who took the claim named after it, so that of several starters
 * none can sweep away the fresh lock of another; a claim whose taker died is itself a stale lock.
 */
function take(path: string, draft: string): void {
  for (;;) {
    if (linked(draft, path)) return;
    const holder = readHolder(path);
    if (holder === undefined) continue;
    if (processStart(holder.pid) === holder.start) throw new InUse(holder.pid);
    const claim = `${path}.${holder.id}`;
    take(claim, draft);
    if (readHolder(path)?.id === holder.id) return renameSync(claim, path);
    rmSync(claim, { force: true });
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    // A file emptied by a power cut reads as held by no process.
    const [pid = '', start = '', id = ''] = readFileSync(path, 'utf8').split('\n');
    return { pid: Number(pid), start, id: /^[\w-]+$/.test(id) ? id : 'unreadable' };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
