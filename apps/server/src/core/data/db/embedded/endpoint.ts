import { chmodSync, lchownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type ListenOptions } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { atrium, folderHash, type Cluster } from './cluster.ts';
import { programError } from './errors.ts';
import { canEnter, run, type OsUser } from './processes.ts';
import type { Runtime } from './runtime.ts';

export type Endpoint = {
  connection: { host: string; port: number; password?: string };
  /** What makes the server listen there. */
  settings: Record<string, string>;
  /** The files by which a server claims the address, in addition to the one for its data directory. */
  pidFiles: string[];
};

// sockaddr_un holds the path and its final NUL: 108 bytes on Linux, 104 on macOS.
const maxSocketPathBytes = process.platform === 'linux' ? 107 : 103;
const port = 5432;

export function socketPath(dir: string): string {
  return join(dir, `.s.PGSQL.${port}`);
}

export function fitsSocket(dir: string): boolean {
  return Buffer.byteLength(socketPath(dir)) <= maxSocketPathBytes;
}

/** A socket in the cluster, which only its owner and root can enter; else in a short private folder; else loopback TCP. */
export async function chooseEndpoint(dataDir: string, cluster: Cluster): Promise<Endpoint> {
  const { dir, user } = cluster;
  if (fitsSocket(dir) && (await canListen(join(dir, '.s.probe')))) return socketEndpoint(dir);
  const short = join(tmpdir(), `atrium-${await folderHash(dataDir)}`);
  if (fitsSocket(short) && isPrivateFolder(short, user) && (await canListen(join(short, '.s.probe')))) {
    if (user === undefined || (await canEnter(user, short))) return socketEndpoint(short);
  }
  return loopbackEndpoint(dataDir);
}

function socketEndpoint(dir: string): Endpoint {
  return {
    connection: { host: dir, port },
    settings: { listen_addresses: '', unix_socket_directories: quoteList(dir), unix_socket_permissions: '0700' },
    pidFiles: [`${socketPath(dir)}.lock`],
  };
}

async function loopbackEndpoint(dataDir: string): Promise<Endpoint> {
  const host = '127.0.0.1';
  const free = await listenOnce({ host, port: 0 });
  // A new one at each start, kept for the operator's own tools.
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('hex');
  writeFileSync(join(dataDir, 'postgres.password'), `${password}\n`, { mode: 0o600 });
  return {
    connection: { host, port: free ?? port, password },
    settings: { listen_addresses: host, unix_socket_directories: '', port: String(free ?? port) },
    pidFiles: [],
  };
}

/** The setting is a comma-separated list in which a quoted item may hold anything. */
export function quoteList(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

/** Creates the folder, or accepts one that is ours; a foreign folder in the shared temporary folder is refused. */
export function isPrivateFolder(path: string, user: OsUser | undefined): boolean {
  const self = process.getuid?.();
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  const found = lstatSync(path);
  if (!found.isDirectory() || (found.uid !== self && found.uid !== user?.uid)) return false;
  if (found.mode & 0o077) chmodSync(path, 0o700);
  if (user !== undefined) lchownSync(path, user.uid, user.gid);
  return true;
}

/** Found by trying, since some mounted file systems hold no sockets. */
async function canListen(path: string): Promise<boolean> {
  return (await listenOnce({ path: `${path}-${process.pid}` })) !== undefined;
}

function listenOnce(options: ListenOptions): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(options, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Over TCP the superuser needs its password; over a socket the folder's mode decides who may connect. */
export async function setPassword(
  { dir, user }: Cluster,
  password: string | undefined,
  runtime: Runtime,
): Promise<void> {
  if (password === undefined) return;
  const single = ['--single', '-D', dir, '-c', 'exit_on_error=on', atrium];
  const done = await run(runtime.postgres, single, user, `ALTER ROLE ${atrium} PASSWORD '${password}'\n`);
  if (!done.ok) throw programError('START_FAILED', dir, done.lines);
}

/** True while some server accepts connections on the socket, even one whose process we cannot see. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect(path, () => {
      client.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}
