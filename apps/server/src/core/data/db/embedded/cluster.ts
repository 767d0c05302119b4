import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { EmbeddedPostgresError, programError } from './errors.ts';
import { canEnter, run, type OsUser } from './processes.ts';
import { openFolder, systemFolder, type Runtime } from './runtime.ts';

/** Superuser and database of every cluster. */
export const atrium = 'atrium';

/** A PostgreSQL data directory (real path) and the account it belongs to: undefined means our own. */
export type Cluster = {
  dir: string;
  user: OsUser | undefined;
  /** Link to leave in the data folder when the cluster had to go elsewhere and is not linked yet. */
  link?: string;
};

/**
 * Where the cluster of a data folder (real path) lies: `postgres` in it, or what a link of that name points to,
 * or for root a folder of its own when the PostgreSQL user cannot enter the data folder.
 */
export async function locateCluster(dataDir: string, user: OsUser | undefined): Promise<Cluster> {
  const path = join(dataDir, 'postgres');
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() && statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw unusable(
      `The database link ${path} leads nowhere: bring back the folder it names, or remove the link to start with an empty database.`,
    );
  }
  const dir = entry === undefined ? path : realpathSync(path);
  if (entry !== undefined && (user === undefined || isInitialised(dir))) return { dir, user: await ownerOf(dir, user) };
  if (user === undefined || (await canEnter(user, dirname(dir)))) return { dir, user };
  if (entry !== undefined) throw cannotEnter(dir, user);

  const home = join(systemFolder, await folderHash(dataDir));
  openFolder(systemFolder);
  openFolder(home);
  return { dir: join(home, 'postgres'), user, link: path };
}

/** A short name for a folder, the same at every start. */
export async function folderHash(folder: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(folder));
  return Buffer.from(digest).toString('hex').slice(0, 12);
}

function isInitialised(dir: string): boolean {
  return existsSync(join(dir, 'PG_VERSION'));
}

/** An existing cluster keeps its owner: root can run PostgreSQL as any user, an ordinary user only as itself. */
async function ownerOf(dir: string, user: OsUser | undefined): Promise<OsUser | undefined> {
  const { uid, gid } = statSync(dir);
  if (user === undefined) {
    if (uid === process.getuid?.()) return undefined;
    throw unusable(
      `The database folder ${dir} belongs to user id ${uid}: run "chown -R ${process.getuid?.()} ${dir}" as root or choose another DATA_DIR.`,
    );
  }
  // Owned by root only after a restore or copy by hand, and PostgreSQL refuses root.
  if (uid === 0) chownTree(dir, user);
  const owner = uid === 0 || uid === user.uid ? user : { name: `user id ${uid}`, uid, gid };
  if (!(await canEnter(owner, dir))) throw cannotEnter(dir, owner);
  return owner;
}

function unusable(message: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError('DATA_DIR_UNUSABLE', message);
}

function cannotEnter(dir: string, user: OsUser): EmbeddedPostgresError {
  return unusable(
    `The database folder ${dir} cannot be entered by its owner ${user.name}: run "chmod o+x" on the folders above it or choose another DATA_DIR.`,
  );
}

/** The folder itself last, so that an interrupted run is taken up again. */
function chownTree(dir: string, { uid, gid }: OsUser): void {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    lchownSync(join(entry.parentPath, entry.name), uid, gid);
  }
  chownSync(dir, uid, gid);
}

/** Creates the cluster with its database if it does not exist, and checks that these binaries can serve it. */
export async function prepareCluster(cluster: Cluster, runtime: Runtime, durable: boolean): Promise<void> {
  const { dir, link } = cluster;
  // Without its link the folder belongs to a data folder that was since removed: keep it, but do not bring it back.
  if (link !== undefined && existsSync(dir)) renameSync(dir, `${dir}.unlinked-${Date.now()}`);
  if (!isInitialised(dir)) await initialise(cluster, runtime, durable);
  if (link !== undefined) symlinkSync(dir, link);
  const version = readFileSync(join(dir, 'PG_VERSION'), 'utf8').trim();
  if (version !== String(runtime.major)) {
    throw new EmbeddedPostgresError(
      'VERSION_MISMATCH',
      `The database in ${dir} was made by PostgreSQL ${version} but this is ${runtime.major}: start the earlier Atrium, take a backup and restore it into an empty DATA_DIR.`,
    );
  }
  // PostgreSQL refuses a folder that others may enter, which a restore by hand easily leaves.
  if (statSync(dir).mode & 0o077) chmodSync(dir, 0o700);
}

/** Created in a draft folder and renamed, so that a start that is killed leaves only the draft. */
async function initialise({ dir, user }: Cluster, { initdb, postgres }: Runtime, durable: boolean): Promise<void> {
  if (existsSync(dir) && readdirSync(dir).length > 0) {
    throw unusable(
      `The folder ${dir} is neither empty nor a PostgreSQL database: move it away or choose another DATA_DIR.`,
    );
  }
  const parent = dirname(dir);
  const drafts = `${basename(dir)}.init-`;
  for (const name of readdirSync(parent)) if (name.startsWith(drafts)) removeTree(join(parent, name));

  const draft = join(parent, `${drafts}${crypto.randomUUID()}`);
  mkdirSync(draft, { mode: 0o700 });
  try {
    if (user !== undefined) chownSync(draft, user.uid, user.gid);
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const options = [
      '--data-checksums',
      '--auth-local=trust',
      '--auth-host=scram-sha-256',
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ];
    const made = await run(initdb, ['-D', draft, '-U', atrium, ...locale, ...options], user);
    if (!made.ok) throw programError('INIT_FAILED', dir, made.lines);
    const single = [
      '--single',
      '-D',
      draft,
      '-c',
      'exit_on_error=on',
      '-c',
      `fsync=${durable ? 'on' : 'off'}`,
      'postgres',
    ];
    const created = await run(postgres, single, user, `CREATE DATABASE ${atrium}\n`);
    if (!created.ok) throw programError('INIT_FAILED', dir, created.lines);
    renameSync(draft, dir);
    if (durable) syncFolder(parent);
  } finally {
    removeTree(draft);
  }
}

/** A draft that an abandoned initdb still writes to may resist; the next start tries again. */
function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    return;
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
