import { S3Client, CreateBucketCommand } from '@aws-sdk/client-s3';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const tools = ['swift-proxy-server', 'swift-account-server', 'swift-container-server', 'swift-object-server'];

/** Debian's packages swift-* and memcached; without them no local server speaks S3 here. */
export const hasSwift = [...tools, 'memcached', 'setpriv'].every((tool) => existsSync(`/usr/bin/${tool}`));

export const credentials = { accessKeyId: 'test:tester', secretAccessKey: 'testing-secret' };

export type Swift = { endpoint: string; bucket: string; stop(): Promise<void> };

const maxStarts = 5;

/** OpenStack Swift with its S3 interface: one of each server in a folder of its own, on ports that are free. */
export async function startSwift(): Promise<Swift> {
  for (let start = 1; ; start++) {
    try {
      return await startOnFreePorts();
    } catch (error) {
      // Another process may have taken a port between its choice and its use.
      if (start === maxStarts) throw error;
    }
  }
}

async function startOnFreePorts(): Promise<Swift> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-swift-'));
  await chmod(folder, 0o755);
  const ports = await freePorts(5);
  const [proxy, account, container, object, cache] = ports as [number, number, number, number, number];
  await mkdir(path.join(folder, 'devices/d1'), { recursive: true });
  const servers = { account, container, object };
  await writeConfiguration(folder, { proxy, cache, servers });
  buildRings(folder, servers);
  const owner = await handOver(folder);
  const processes: ChildProcess[] = [];
  // The kernel ends them with the process that started them, even if it is killed.
  const run = (...command: string[]) => {
    const child = spawn('/usr/bin/setpriv', ['--pdeathsig', 'KILL', ...command], {
      cwd: folder,
      stdio: 'ignore',
      env: { PATH: '/usr/bin:/bin', SWIFT_DIR: folder },
      detached: true,
      ...owner,
    });
    processes.push(child);
    return child;
  };
  const stop = async () => {
    await Promise.all(processes.map(end));
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    await listens(cache, run('/usr/bin/memcached', '-l', '127.0.0.1', '-p', String(cache), '-U', '0', '-m', '16'));
    // The proxy shuns a server that was late for a minute.
    await Promise.all(
      Object.entries(servers).map(([name, port]) =>
        listens(port, run(`/usr/bin/swift-${name}-server`, path.join(folder, `${name}.conf`))),
      ),
    );
    await listens(proxy, run('/usr/bin/swift-proxy-server', path.join(folder, 'proxy.conf')));
    const endpoint = `http://127.0.0.1:${proxy}`;
    await createBucket(endpoint, 'files');
    if (!processes.every(isRunning)) throw new Error('a server of ours has ended');
    return { endpoint, bucket: 'files', stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Layout = { proxy: number; cache: number; servers: Record<string, number> };

async function writeConfiguration(folder: string, { proxy, cache, servers }: Layout): Promise<void> {
  const common = (port: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
bind_timeout = 1
workers = 0
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
disable_fallocate = true
log_address = ${folder}/no-log
`;
  await writeFile(
    path.join(folder, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n',
  );
  for (const [name, port] of Object.entries(servers)) {
    const app = `[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`;
    await writeFile(path.join(folder, `${name}.conf`), common(port) + app);
  }
  const { accessKeyId, secretAccessKey } = credentials;
  const [tenant, user] = accessKeyId.split(':');
  await writeFile(
    path.join(folder, 'proxy.conf'),
    `${common(proxy)}
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cache}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_${tenant}_${user} = ${secretAccessKey} .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`,
  );
}

function buildRings(folder: string, servers: Record<string, number>): void {
  const build = (...args: string[]) => {
    const { status, stderr } = spawnSync('/usr/bin/swift-ring-builder', args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0 && status !== 1) throw new Error(`swift-ring-builder ${args.join(' ')}: ${stderr}`);
  };
  for (const [name, port] of Object.entries(servers)) {
    build(`${name}.builder`, 'create', '4', '1', '0');
    build(`${name}.builder`, 'add', `r1z1-127.0.0.1:${port}/d1`, '1');
    build(`${name}.builder`, 'rebalance');
  }
}

/** Nothing of this has to run as root. */
async function handOver(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync('id', [flag, 'swift'], { encoding: 'utf8' }).stdout);
  const [uid, gid] = [id('-u'), id('-g')];
  if (!uid) return {};
  spawnSync('chown', ['-R', `${uid}:${gid}`, folder]);
  await chown(folder, uid, gid);
  return { uid, gid };
}

async function createBucket(endpoint: string, Bucket: string): Promise<void> {
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 10 });
  await client.send(new CreateBucketCommand({ Bucket }));
  client.destroy();
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A child whose port is taken by another process ends soon. */
async function listens(port: number, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline && isRunning(child); await sleep(50)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => {
        socket.destroy();
        resolve(true);
      }).once('error', () => resolve(false));
    });
    if (isOpen) return;
  }
  throw new Error(`nothing of ours listens on ${port}`);
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** With the workers it forked. */
async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const closed = once(child, 'close');
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
  await closed;
}
