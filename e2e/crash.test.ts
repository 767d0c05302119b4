import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { newTenant, type Client } from './support/client.ts';
import { isAlive, pidFileOf, postmasterOf, until, Workplace, type Service } from './support/service.ts';
import { comeBack } from './support/walk.ts';

vi.setConfig({ testTimeout: 120_000 });

const workplace = new Workplace();
afterEach(() => workplace.clear());

const contacts = '/api/v1/secure/contacts';
const writers = 4;
/** Before who was refused comes again. */
const pauseMs = 20;

/** What the service has confirmed, and with which statuses it refused. */
class Ledger {
  readonly acknowledged = new Set<string>();
  readonly refusals = new Set<number>();
  #stopped = false;
  #writing: Promise<void>[] = [];

  write(client: Client): void {
    this.#stopped = false;
    this.#writing = Array.from({ length: writers }, () => this.#keepWriting(client));
  }

  async #keepWriting(client: Client): Promise<void> {
    for (let number = 0; !this.#stopped; number++) {
      // A killed service breaks the connection: not acknowledged, so it may be there or not.
      const answer = await client.post(contacts, { firstName: `Number ${number}` }).catch(() => undefined);
      if (answer?.status === 201) this.acknowledged.add(answer.body.data.id as string);
      else if (answer !== undefined) this.refusals.add(answer.status);
      if (answer?.status !== 201) await sleep(pauseMs);
    }
  }

  async grow(by: number): Promise<void> {
    const goal = this.acknowledged.size + by;
    await until(`${by} more writes are acknowledged`, () => this.acknowledged.size >= goal);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#writing);
  }

  /** Every acknowledged contact is there, and each contact that is there has exactly one audit row. */
  async expectKept(client: Client): Promise<void> {
    const stored = (await client.all(contacts)).map((row) => row.id as string);
    const trail = await client.all('/api/v1/secure/audit-logs?action=contact.created');
    expect([...this.acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
    const byText = (left: string, right: string) => (left < right ? -1 : 1);
    expect(trail.map((row) => row.resource_id as string).toSorted(byText)).toEqual(stored.toSorted(byText));
  }
}

async function crashPostmaster(dataDir: string): Promise<void> {
  const killed = postmasterOf(dataDir);
  process.kill(killed, 'SIGKILL');
  await until('the database is replaced', () => {
    try {
      return postmasterOf(dataDir) !== killed && isAlive(postmasterOf(dataDir));
    } catch {
      return false;
    }
  });
}

const isHealthy = async ({ base }: Service) => {
  const response = await fetch(`${base}/api/v1/system/health`).catch(() => undefined);
  return response?.status === 200;
};

describe('kill -9', () => {
  it('of the service: the next start has every acknowledged write', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    const { client, email } = await newTenant(first.base);
    const ledger = new Ledger();
    ledger.write(client);
    await ledger.grow(50);
    await first.kill('SIGKILL');
    await ledger.stop();

    const second = await workplace.start({ dataDir });
    await ledger.expectKept(await comeBack(second.base, email));
    expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('of PostgreSQL: only 503 until it recovers by itself', async () => {
    const dataDir = workplace.dataDir();
    const service = await workplace.start({ dataDir });
    const { client } = await newTenant(service.base);
    const ledger = new Ledger();
    ledger.write(client);
    await ledger.grow(20);
    await crashPostmaster(dataDir);
    await ledger.grow(20);
    await ledger.stop();
    expect([...ledger.refusals]).toEqual([503]);
    await until('the service is healthy again', () => isHealthy(service));
    await ledger.expectKept(client);
  });

  it('of both, with a pid file that names another process', async () => {
    const dataDir = workplace.dataDir();
    const first = await workplace.start({ dataDir });
    const { client, email } = await newTenant(first.base);
    const id = await client.createContact('Kept');
    const postmaster = postmasterOf(dataDir);
    await first.kill('SIGKILL');
    process.kill(postmaster, 'SIGKILL');
    await until('PostgreSQL is gone', () => !isAlive(postmaster));
    writeFileSync(pidFileOf(dataDir), `${process.pid}\n`);

    const second = await workplace.start({ dataDir });
    const again = await comeBack(second.base, email);
    expect((await again.get(`${contacts}/${id}`)).status).toBe(200);
  });
});
