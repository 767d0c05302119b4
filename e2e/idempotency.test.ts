import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { Client, newTenant, type Answer } from './support/client.ts';
import { onDatabase } from './support/database.ts';
import { until, Workplace, type Service } from './support/service.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const contacts = '/api/v1/secure/contacts';
const wide = 50;
const rounds = 5;

const workplace = new Workplace();
const database = `atrium_e2e_${randomBytes(6).toString('hex')}`;
const own = inject('connection');
let services: Service[];

beforeAll(async () => {
  await onDatabase(own, `create database ${database}`);
  const url = `postgres://${own.user as string}@${encodeURIComponent(own.host!)}/${database}`;
  const env = { DATABASE_URL: url, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const options = { dataDir: workplace.dataDir(), env };
  services = await Promise.all([workplace.start(options), workplace.start(options)]);
});
afterAll(async () => {
  await workplace.clear();
  await onDatabase(own, `drop database ${database} with (force)`);
});

/** The same person at each process. */
function everywhere({ accessToken }: Client): Client[] {
  return services.map(({ base }) => Object.assign(new Client(base), { accessToken }));
}

function create(client: Client, key: string): Promise<Answer> {
  return client.call('POST', contacts, { firstName: 'Ada' }, { 'idempotency-key': key });
}

const reasonOf = ({ body }: Answer) => body.details?.code as string | undefined;

describe('an idempotency key over two processes', () => {
  it('has one side effect for many concurrent requests', async () => {
    const { client } = await newTenant(services[0]!.base);
    const clients = everywhere(client);
    for (let round = 1; round <= rounds; round++) {
      const key = `round-${round}`;
      const answers = await Promise.all(Array.from({ length: wide }, (_, at) => create(clients[at % 2]!, key)));
      const done = answers.filter(({ status }) => status === 201);
      const others = answers.filter(({ status }) => status !== 201);
      expect(done.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1);
      expect(new Set(done.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(others.filter((answer) => reasonOf(answer) !== 'IDEMPOTENCY_KEY_IN_USE')).toEqual([]);
      for (const each of clients) expect((await create(each, key)).body).toEqual(done[0]!.body);
      expect(await client.all(contacts)).toHaveLength(round);
    }
    expect(await client.all('/api/v1/secure/audit-logs?action=contact.created')).toHaveLength(rounds);
  });

  it('has no second side effect after the process was killed during the request', async () => {
    const { client } = await newTenant(services[0]!.base);
    const [first, second] = everywhere(client) as [Client, Client];
    const locker = new pg.Client({ ...own, database });
    await locker.connect();
    await locker.query('begin');
    await locker.query('lock table contacts in exclusive mode');
    const sent = create(first, 'killed').catch(() => undefined);
    await until('the change waits for the lock', async () => {
      const text = `select from pg_locks where not granted and relation = 'contacts'::regclass
        and database = (select oid from pg_database where datname = current_database())`;
      const { rowCount } = await locker.query(text);
      return rowCount! > 0;
    });
    await services[0]!.kill('SIGKILL');
    expect(await sent).toBeUndefined();
    await locker.query('rollback');

    const early = await create(second, 'killed');
    expect([early.status, reasonOf(early), early.headers.get('retry-after')]).toEqual([
      409,
      'IDEMPOTENCY_KEY_IN_USE',
      '1',
    ]);
    await locker.query(`update idempotency_keys set lease_until = now() - interval '1 s' where state = 'claimed'`);
    const late = await create(second, 'killed');
    expect([late.status, reasonOf(late)]).toEqual([409, 'IDEMPOTENCY_OUTCOME_UNKNOWN']);
    // What was sent before the kill may have been done or not; nothing was done after it.
    const found = (await second.all(contacts)).length;
    expect(found).toBeLessThanOrEqual(1);
    expect((await create(second, 'another')).status).toBe(201);
    expect(await second.all(contacts)).toHaveLength(found + 1);
    await locker.end();
  });
});
