import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { EmbeddedPostgresError } from './errors.ts';

/** The unprivileged account that PostgreSQL runs under when Atrium itself runs as root, which PostgreSQL refuses. */
export type OsUser = { name: string; uid: number; gid: number };

/** Spawn options: nothing of our environment (PG*, LANG, LD_*) may leak in, and our folder may be closed to the user. */
export function spawnAs(user: OsUser | undefined) {
  const env = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' };
  return { cwd: '/', env, ...(user && { uid: user.uid, gid: user.gid }) };
}

/** The account for PostgreSQL, or undefined when we are not root and PostgreSQL runs as ourselves. */
export function findServiceUser(): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = parsePasswd(readFileSync('/etc/passwd', 'utf8'));
  for (const name of ['atrium', 'postgres', 'nobody']) {
    const user = users.find((candidate) => candidate.name === name && candidate.uid !== 0);
    if (user !== undefined) return user;
  }
  throw new EmbeddedPostgresError(
    'START_FAILED',
    'PostgreSQL does not run as root: create a user for it with "useradd --system atrium".',
  );
}

export function parsePasswd(text: string): OsUser[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid && !name.startsWith('#') ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Runs a program until it exits; a program that cannot be started counts as failed. */
export async function run(
  file: string,
  args: string[],
  user?: OsUser,
  input = '',
): Promise<{ ok: boolean; lines: string[] }> {
  const lines: string[] = [];
  const ok = await new Promise<boolean>((resolve) => {
    const failed = (error: unknown) => {
      lines.push(String(error));
      resolve(false);
    };
    try {
      const child = spawn(file, args, { ...spawnAs(user), stdio: ['pipe', 'ignore', 'pipe'] });
      createInterface(child.stderr).on('line', (line) => lines.push(line));
      child.once('error', failed).once('close', (code) => resolve(code === 0));
      child.stdin.on('error', () => undefined).end(input);
    } catch (error) {
      failed(error);
    }
  });
  return { ok, lines };
}

/** Asked of the system itself, since mode bits alone say nothing about ACLs and mounts. */
export async function canEnter(user: OsUser, folder: string): Promise<boolean> {
  return (await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], user)).ok;
}

/** Tells a process from a later one that got the same id; undefined when it is gone or only a zombie. */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const ticks = parseStart(readText(`/proc/${pid}/stat`) ?? '');
    // Ticks count from the boot, so a process of an earlier boot could match by chance.
    return ticks && `${readText('/proc/sys/kernel/random/boot_id')?.trim()} ${ticks}`;
  }
  const [state, ...start] = ps(pid, 'state=,lstart=').split(/\s+/);
  return state === '' || state?.startsWith('Z') ? undefined : start.join(' ');
}

/** Field 22 of /proc/<pid>/stat (proc(5)); the command in field 2 may itself hold blanks and brackets. */
export function parseStart(stat: string): string | undefined {
  const [state = '', ...later] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return /^[ZX]/.test(state) ? undefined : later[18];
}

/** True if the live process is a PostgreSQL server on exactly this folder, not an unrelated process with a reused id. */
export function servesCluster(pid: number, dir: string): boolean {
  if (process.platform !== 'linux') return isPostmasterOf(ps(pid, 'command='), dir);
  const command = readText(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ');
  if (command === undefined) return false;
  return isPostmasterOf(command, dir) || (isPostmasterOf(command) && workingFolder(pid) === dir);
}

export function isPostmasterOf(command: string, dir?: string): boolean {
  const at = dir === undefined ? command.indexOf(' ') : `${command} `.indexOf(` -D ${dir} `);
  return at > 0 && /(^|\/)(postgres|postmaster)$/.test(command.slice(0, at));
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function ps(pid: number, columns: string): string {
  try {
    return execFileSync('ps', ['-ww', '-o', columns, '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    }).trim();
  } catch {
    return '';
  }
}
