import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { newTenant } from '../support/client.ts';
import { accepts, until, type Workplace } from '../support/service.ts';
import type { Summary } from './campaign.ts';
import { compare, Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import { compareCounters, settle, Site } from './site.ts';

const redisServer = '/usr/bin/redis-server';
const diskBytes = 400 * 1024 * 1024;

/** Requests are answered with and without Redis, and health says which it is. Returns what was seen, in words. */
export async function loseRedis(workplace: Workplace, summary: Summary): Promise<string> {
  if (!existsSync(redisServer)) return `left out: there is no ${redisServer}`;
  const port = await freePort();
  let redis = await startRedis(port);
  try {
    const site = new Site(workplace, { REDIS_URL: `redis://127.0.0.1:${port}` });
    await site.start(false);
    const { client } = await newTenant(site.base);
    const degraded = async () => {
      const { status, body } = await client.get('/api/v1/system/health');
      return status === 200 && body.status === 'degraded' && (body.degradedServices as string[]).includes('redis');
    };
    await until('health is content', async () => !(await degraded()));
    redis.kill('SIGKILL');
    await until('health says that Redis is gone', degraded);
    for (let number = 0; number < 50; number++) await client.createContact(`Without Redis ${number}`);
    redis = await startRedis(port);
    await until('health says that Redis is back', async () => !(await degraded()));
    await client.createContact('With Redis');
    await site.service.kill('SIGTERM');
    return '51 writes answered, degraded meanwhile, back by itself';
  } catch (error) {
    summary.violations.push(`Redis: ${(error as Error).message}`);
    return 'failed';
  } finally {
    redis.kill('SIGKILL');
  }
}

/** A data folder on a small file system of its own that is filled to the last byte, and emptied again. */
export async function fillDisk(
  workplace: Workplace,
  { random, summary }: { random: Random; summary: Summary },
): Promise<string> {
  // No folder of the workplace: that one is emptied while this is still mounted.
  const dataDir = mkdtempSync(path.join(tmpdir(), 'atrium-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=711`, 'tmpfs', dataDir]);
  if (mounted.status !== 0) {
    rmSync(dataDir, { recursive: true });
    return 'left out: no file system may be mounted here';
  }
  try {
    return await useUpDisk(new Site(workplace, {}, dataDir), { random, summary });
  } catch (error) {
    summary.violations.push(`disk full: ${(error as Error).message}`);
    return 'failed';
  } finally {
    await workplace.clear();
    spawnSync('umount', [dataDir]);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function useUpDisk(site: Site, { random, summary }: { random: Random; summary: Summary }): Promise<string> {
  await site.start(false);
  await site.allowLoad();
  const { client } = await newTenant(site.base);
  const ledger = new Ledger(client, random);
  ledger.write();
  await until('the ledger grows', () => ledger.acknowledged > 50);
  const filler = path.join(site.dataDir, 'filler');
  let ended = false;
  void site.service.exit.then(() => (ended = true));
  fill(filler);
  await until('writes are refused', () => ledger.refused > 20 || ended, 120_000);
  const hasEnded = ended;
  ledger.mayCut = hasEnded;
  rmSync(filler);
  if (hasEnded) {
    await site.start(false);
    ledger.moveTo(site.base);
  }
  const before = ledger.acknowledged;
  await until('writes are taken again', () => ledger.acknowledged > before + 20, 60_000);
  await ledger.stop();
  await site.untilReady(200);
  const problems = await settle(async () => [...(await compare(ledger)), ...(await compareCounters(site))]);
  summary.violations.push(...ledger.violations, ...problems);
  summary.acknowledged += ledger.acknowledged;
  summary.refused += ledger.refused;
  await site.service.kill('SIGTERM');
  const outcome = hasEnded ? 'the service ended, and had them after the next start' : 'back by itself';
  return `${ledger.refused} writes refused with 503, all ${ledger.acknowledged} acknowledged ones kept; ${outcome}`;
}

function fill(file: string): void {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  const megabyte = Buffer.alloc(1024 * 1024);
  try {
    for (let written = 0; written <= bavail * bsize; written += megabyte.length) {
      writeFileSync(file, megabyte, { flag: 'a' });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

async function startRedis(port: number): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn(redisServer, args, { stdio: 'ignore' });
  await until('Redis answers', () => accepts(port));
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
