import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { Client, newTenant } from './support/client.ts';
import { embeddedIn, onDatabase } from './support/database.ts';
import { Doors } from './support/doors.ts';
import { accepts, until, Workplace, type Service } from './support/service.ts';
import { MailServer } from './support/smtp.ts';
import { startWorkers } from './support/workers.ts';

const redisUrl = process.env['ATRIUM_E2E_REDIS_URL'] ?? ((await accepts(6379)) ? 'redis://127.0.0.1:6379' : undefined);
const administrator = 'root@example.com';
const password = randomBytes(12).toString('hex');
const secret = randomBytes(32).toString('base64');
const me = '/api/v1/auth/me';
const health = '/api/v1/system/health';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 240_000 });

const timeoutMs = 120_000;
const missedMinutes = 5;

const workplace = new Workplace();
const database = `atrium_e2e_${randomBytes(6).toString('hex')}`;
const own = inject('connection');

const common = () => ({
  SYSTEM_ADMIN_EMAIL: administrator,
  SYSTEM_ADMIN_PASSWORD: password,
  TRUSTED_PROXIES: '127.0.0.1',
  DISPATCHER_SECRET: secret,
  REDIS_PREFIX: `e2e-${randomBytes(6).toString('hex')}:`,
});

type Installation = { services: Service[]; connection: pg.ClientConfig };

/** Two ways to run several processes on one database. */
const installations: [string, (env: Record<string, string>) => Promise<Installation>][] = [
  [
    'two workers',
    async (env) => {
      const dataDir = workplace.dataDir();
      const service = await startWorkers(workplace, { dataDir, env: { ...common(), ...env } });
      return { services: [service], connection: embeddedIn(dataDir) };
    },
  ],
  [
    'two instances',
    async (env) => {
      const url = `postgres://${own.user as string}@${encodeURIComponent(own.host!)}/${database}`;
      const encryption = { DATABASE_URL: url, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
      const options = { dataDir: workplace.dataDir(), env: { ...common(), ...encryption, ...env } };
      // At the same moment, on a database that knows nothing yet.
      const services = await Promise.all([workplace.start(options), workplace.start(options)]);
      return { services, connection: { ...own, database } };
    },
  ],
];

describe.each(installations)('%s apply the same state', (_name, install) => {
  let bases: string[];
  let connection: pg.ClientConfig;
  let admin: Client;
  let mail: MailServer;
  let doors: Doors;

  beforeAll(async () => {
    await onDatabase(own, `create database ${database}`);
    mail = await MailServer.open();
    const redis = redisUrl === undefined ? {} : { REDIS_URL: redisUrl };
    const installed = await install({ SMTP_URL: mail.url, ...redis });
    connection = installed.connection;
    bases = installed.services.map(({ base }) => base);
    doors = new Doors(bases);
    admin = new Client(bases[0]!);
    expect((await admin.logIn(administrator, password)).status).toBe(200);
  });

  afterAll(async () => {
    doors.close();
    await workplace.clear();
    mail.close();
    await onDatabase(own, `drop database ${database} with (force)`);
  });

  it('after a logout', async () => {
    const { client } = await newTenant(bases[0]!);
    const token = client.accessToken;
    expect(await doors.statuses('GET', me, { token })).toEqual([200, 200, 200, 200]);
    await client.post('/api/v1/public/auth/logout', { refreshToken: client.refreshToken });
    await doors.expectSoon(401, me, { token });
  });

  it('after an API key loses permissions, and after it is deleted', async () => {
    const { client } = await newTenant(bases.at(-1)!);
    const created = await client.post('/api/v1/secure/api-keys', {
      name: 'Key',
      permissions: { spaces: { read: true } },
    });
    expect(created.status).toBe(201);
    const { fullKey: key, data } = created.body;
    const spaces = '/api/v1/secure/spaces';
    expect(await doors.statuses('GET', spaces, { key })).toEqual([200, 200, 200, 200]);
    const withdrawn = await client.call('PATCH', `/api/v1/secure/api-keys/${data.id}`, {
      permissions: { spaces: null },
    });
    expect(withdrawn.status).toBe(200);
    await doors.expectSoon(403, spaces, { key });
    expect((await client.call('DELETE', `/api/v1/secure/api-keys/${data.id}`)).status).toBe(204);
    await doors.expectSoon(401, spaces, { key });
  });

  it('after a tenant is suspended', async () => {
    const { client } = await newTenant(bases[0]!);
    const token = client.accessToken;
    const suspend = (what: string) => admin.post(`/api/v1/secure/tenants/${client.tenantId}/${what}`);
    expect(await doors.statuses('GET', me, { token })).toEqual([200, 200, 200, 200]);
    expect((await suspend('suspend')).status).toBe(200);
    await doors.expectSoon(401, me, { token });
    expect((await suspend('activate')).status).toBe(200);
    await doors.expectSoon(200, me, { token });
  });

  it('after an IP rule is added', async () => {
    const from = '203.0.113.7';
    expect(await doors.statuses('GET', health, { from })).toEqual([200, 200, 200, 200]);
    const rule = { range: from, action: 'block', reason: 'test' };
    expect((await admin.post('/api/v1/system/security/ip-rules', rule)).status).toBe(201);
    await doors.expectSoon(403, health, { from });
  });

  const needsRedis = 'skipped without one at ATRIUM_E2E_REDIS_URL or on port 6379';
  it.skipIf(redisUrl === undefined)(
    `to the limit of an address, which Redis counts for all (${needsRedis})`,
    async () => {
      const configured = await admin.call('PATCH', '/api/v1/system/security/config?force=true', {
        dos_max_requests_per_ip: 100,
      });
      expect(configured.status).toBe(200);
      // A process without the new settings would admit this address forever.
      let probes = 0;
      const everyoneKnows = async () => {
        const from = `203.0.113.${20 + probes++}`;
        const statuses: number[] = [];
        for (let round = 0; round < 26; round++) statuses.push(...(await doors.statuses('GET', me, { from })));
        const passed = statuses.filter((status) => status === 401).length;
        expect(passed + statuses.filter((status) => status === 429).length).toBe(104);
        return passed === 100;
      };
      await until('the limit holds for all together', everyoneKnows, timeoutMs);
      await admin.call('PATCH', '/api/v1/system/security/config', { dos_max_requests_per_ip: 20_000 });
    },
  );

  it('in the log: lines of all processes are stored, and a level applies to all', async () => {
    const rounds = async (client: Client, count: number) => {
      for (let round = 0; round < count; round++) await doors.statuses('GET', me, { token: client.accessToken });
    };
    const linesOf = async ({ tenantId }: Client): Promise<number> => {
      const query = new URLSearchParams({ tenantId: tenantId!, service: 'http', search: me, limit: '1' });
      return (await admin.get(`/api/v1/system/logs?${query.toString()}`)).body.pagination.total as number;
    };
    const { client: first } = await newTenant(bases[0]!);
    await rounds(first, 5);
    await until('every line of every process is kept', async () => (await linesOf(first)) === 20);

    const setLevel = async (level: string) => {
      const { status } = await admin.call('PATCH', '/api/v1/system/logs/config/log-levels', { http: level });
      expect(status).toBe(200);
    };
    const bothBecomeQuiet = async () => {
      const { client } = await newTenant(bases[0]!);
      await setLevel('warn');
      await rounds(client, 25);
      await setLevel('info');
      // More than one of the two can have written alone: what either wrote before is kept by then.
      let asked = 0;
      const { client: later } = await newTenant(bases[0]!);
      await until('both write again', async () => {
        await rounds(later, 1);
        asked += 4;
        return (await linesOf(later)) > asked / 2 + 4;
      });
      return (await linesOf(client)) < 50;
    };
    await until('both have become quiet', bothBecomeQuiet, timeoutMs);
  });

  it('for scheduled jobs: each slot runs once, however many processes are asked', async () => {
    const jobs = '/api/v1/system/dispatcher/jobs';
    const { name } = (await admin.get(jobs)).body.data[0] as { name: string };
    const changed = await admin.call('PATCH', `${jobs}/${name}`, { schedule: '* * * * *', catch_up: 'all' });
    expect(changed.status).toBe(200);
    const slots = async () => {
      const { data } = (await admin.get(`${jobs}/${name}/runs`)).body as { data: { slot: string | null }[] };
      return data.flatMap(({ slot }) => (slot === null ? [] : [slot]));
    };
    const before = new Set(await slots());
    const missed = () => slots().then((all) => all.filter((slot) => !before.has(slot)).length);
    const ask = async () => {
      const asked = doors.all.map((door) => door.ask('POST', '/api/v1/system/dispatcher/run', { secret }));
      for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
      return (await missed()) >= missedMinutes;
    };
    // As if no process had run for this time.
    const back = `update jobs set handled_until = now() - $2::int * interval '1 min', handled_schedule = $3 where name = $1`;
    await onDatabase(connection, back, [name, missedMinutes, '* * * * * UTC']);
    await until('what was missed has been run', ask, timeoutMs);
    for (let round = 0; round < 5; round++) await ask();
    const run = await slots();
    expect(new Set(run).size).toBe(run.length);
  });

  it('for mail: each is sent once', async () => {
    const before = mail.taken.length;
    for (let number = 0; number < 10; number++) await newTenant(bases[number % bases.length]!);
    await until('all are delivered', () => mail.taken.length >= before + 10, timeoutMs);
    const outbox = await admin.all('/api/v1/system/mail-outbox');
    await until('all are noted', async () => {
      const rows = await admin.all('/api/v1/system/mail-outbox');
      return rows.every((row) => row.sentAt !== null || row.sent_at !== null);
    });
    expect(new Set(mail.taken).size).toBe(mail.taken.length);
    expect(mail.taken.length).toBe(outbox.length);
  });
});

describe('without Redis', () => {
  afterEach(() => workplace.clear());

  it('each process has its own rate limits, as documented', async () => {
    const service = await startWorkers(workplace, { dataDir: workplace.dataDir(), env: common() });
    const admin = new Client(service.base);
    await admin.logIn(administrator, password);
    const limit = { dos_max_requests_per_ip: 100 };
    expect((await admin.call('PATCH', '/api/v1/system/security/config?force=true', limit)).status).toBe(200);
    const doors = new Doors([service.base]);
    const passed = async (number: number) => {
      const statuses: number[] = [];
      for (let round = 0; round < 60; round++) {
        statuses.push(...(await doors.statuses('GET', me, { from: `203.0.113.${number}` })));
      }
      return statuses.filter((status) => status === 401).length;
    };
    let probes = 0;
    await until(
      'both have heard of it, and count a hundred each',
      async () => (await passed(++probes)) === 200,
      timeoutMs,
    );
    doors.close();
  });
});
