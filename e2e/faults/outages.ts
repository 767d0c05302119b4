import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { newTenant, password, type Answer, type Client } from '../support/client.ts';
import { embeddedIn } from '../support/database.ts';
import { Relay } from '../support/relay.ts';
import type { Service, Workplace } from '../support/service.ts';
import type { Summary } from './campaign.ts';
import { Site } from './site.ts';

/** Maximum wait of a request during any database outage. */
const deadlineMs = 5000;
/** How long a credential may work elsewhere after it was revoked. */
const revocationMs = 1000;
/** Longer than connections are trusted without a test. */
const restMs = 7000;
/** Maximum p99 of reads while another table is locked, relative to the p99 before, and the noise of a busy machine. */
const maxSlowdown = 3;
const noiseMs = 20;

type Person = { client: Client; email: string };
type Kind = 'read' | 'search' | 'write' | 'login';
const kinds: readonly Kind[] = ['read', 'search', 'write', 'login'];

/** The database frozen, a table locked, packets that vanish: what is promised of each is held against it. Returns what was seen. */
export async function disturbDatabase(workplace: Workplace, summary: Summary): Promise<string> {
  const key = randomBytes(32).toString('base64');
  const site = new Site(workplace, { ENCRYPTION_KEY: key });
  try {
    await site.start(false);
    await site.allowLoad();
    const frozen = await freezeDatabase(site, summary);
    const locked = await lockTable(site, summary);
    const lost = await losePackets(workplace, { site, key }, summary);
    await site.service.kill('SIGTERM');
    return [frozen, locked, lost].join('; ');
  } catch (error) {
    summary.violations.push(`database: ${(error as Error).stack}`);
    return 'failed';
  }
}

async function freezeDatabase(site: Site, summary: Summary): Promise<string> {
  const person = await newTenant(site.base);
  let longest = 0;
  await site.freeze(async () => {
    const answers = await sendAll(person, 5);
    longest = Math.max(...answers.map(({ ms }) => ms));
    for (const { kind, status, retryAfter } of answers) {
      if (status !== 503 || retryAfter === null) summary.violations.push(`frozen: ${kind} answered ${status}`);
    }
  });
  if (longest > deadlineMs) summary.violations.push(`frozen: a request took ${longest} ms`);
  await site.untilReady(200);
  return `frozen: all refused within ${longest} ms`;
}

async function lockTable(site: Site, summary: Summary): Promise<string> {
  const [writer, reader] = [await newTenant(site.base), await newTenant(site.base)];
  await measureReads(reader.client);
  const before = await measureReads(reader.client);
  const holder = new pg.Client(embeddedIn(site.dataDir));
  await holder.connect();
  await holder.query('begin; lock table contacts in exclusive mode');
  let isHeld = true;
  const writers = Array.from({ length: 10 }, async () => {
    while (isHeld) await writer.client.post('/api/v1/secure/contacts', { firstName: 'Waits' });
  });
  const during = await measureReads(reader.client);
  isHeld = false;
  await holder.query('rollback');
  await holder.end();
  await Promise.all(writers);
  if (during > maxSlowdown * before + noiseMs)
    summary.violations.push(`locked: p99 of reads went from ${before} to ${during} ms`);
  return `locked table: p99 of reads ${before} ms before, ${during} ms during ten waiting writers`;
}

/** p99 of reads of two pools, in milliseconds. */
async function measureReads(client: Client): Promise<number> {
  const times: number[] = [];
  for (const end = Date.now() + 3000; Date.now() < end;) {
    for (const list of ['/api/v1/secure/spaces', '/api/v1/secure/contacts?search=nothing']) {
      const began = performance.now();
      await client.get(list);
      times.push(performance.now() - began);
    }
  }
  return Math.round(times.toSorted((left, right) => left - right)[Math.floor(times.length * 0.99)]!);
}

type Shared = { site: Site; key: string };

async function losePackets(workplace: Workplace, { site, key }: Shared, summary: Summary): Promise<string> {
  const socketFolder = embeddedIn(site.dataDir).host!;
  const relay = await Relay.open(path.join(socketFolder, '.s.PGSQL.5432'));
  const env = {
    DATABASE_URL: `postgres://atrium@127.0.0.1:${relay.port}/atrium`,
    ENCRYPTION_KEY: key,
    SYSTEM_ADMIN_EMAIL: 'root@example.com',
  };
  const elsewhere = await workplace.start({ dataDir: workplace.dataDir(), env });
  try {
    const revoked = await revokeUnheard(site, { relay, elsewhere }, summary);
    const rested = await restAndLose(site, { relay, elsewhere }, summary);
    await elsewhere.kill('SIGTERM');
    return `${revoked}; ${rested}`;
  } finally {
    relay.close();
  }
}

type Network = { relay: Relay; elsewhere: Service };

async function revokeUnheard(site: Site, { relay, elsewhere }: Network, summary: Summary): Promise<string> {
  const { client } = await newTenant(site.base);
  const there = clientAt(elsewhere, client);
  if ((await send({ client: there, email: '' }, 'read')).status !== 200) throw new Error('no answer elsewhere');
  relay.swallow();
  const revokedAt = performance.now();
  await client.post('/api/v1/public/auth/logout');
  let workedForMs = 0;
  for (;;) {
    const sentAt = performance.now();
    const { status } = await send({ client: there, email: '' }, 'read');
    if (status === 401) break;
    if (status === 200) workedForMs = sentAt - revokedAt;
    if (sentAt - revokedAt > 60_000)
      throw new Error(`a revoked credential was still answered ${status} after a minute`);
    await sleep(20);
  }
  workedForMs = Math.round(workedForMs);
  if (workedForMs > revocationMs) summary.violations.push(`silent: a revoked credential worked for ${workedForMs} ms`);
  return `silent notifications: a revoked credential worked for ${workedForMs} ms`;
}

async function restAndLose(site: Site, { relay, elsewhere }: Network, summary: Summary): Promise<string> {
  const { client, email } = await newTenant(site.base);
  const person = { client: clientAt(elsewhere, client), email };
  await sendAll(person, 5);
  await sleep(restMs);
  relay.swallow();
  const answers = await sendAll(person, 5);
  const longest = Math.max(...answers.map(({ ms }) => ms));
  const failed = answers.filter(({ status }) => status >= 500);
  for (const kind of kinds) {
    const count = failed.filter((one) => one.kind === kind).length;
    if (count > 1) summary.violations.push(`forgotten connections: ${count} of 5 requests failed: ${kind}`);
  }
  if (longest > deadlineMs) summary.violations.push(`forgotten connections: a request took ${longest} ms`);
  const after = await sendAll(person, 5);
  if (after.some(({ status }) => status >= 500)) summary.violations.push('forgotten connections: not well afterwards');
  return `forgotten connections: ${failed.length} of ${answers.length} failed, the longest took ${longest} ms`;
}

function clientAt(service: Service, client: Client): Client {
  const there = Object.assign(Object.create(Object.getPrototypeOf(client) as object) as Client, client);
  Object.assign(there, { base: service.base });
  return there;
}

type Sent = { kind: Kind; status: number; retryAfter: string | null; ms: number };

function sendAll(person: Person, times: number): Promise<Sent[]> {
  return Promise.all(kinds.flatMap((kind) => Array.from({ length: times }, () => send(person, kind))));
}

async function send({ client, email }: Person, kind: Kind): Promise<Sent> {
  const began = performance.now();
  const { status, headers } = await request(client, email, kind);
  return { kind, status, retryAfter: headers.get('retry-after'), ms: Math.round(performance.now() - began) };
}

function request(client: Client, email: string, kind: Kind): Promise<Answer> {
  if (kind === 'read') return client.get('/api/v1/secure/contacts');
  if (kind === 'search') return client.get('/api/v1/secure/contacts?search=ada');
  if (kind === 'write') return client.post('/api/v1/secure/spaces', { name: 'Room' });
  return client.post('/api/v1/public/auth/login', { email, password });
}
