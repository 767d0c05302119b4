import { Agent, request } from 'node:http';

import type { Answer, Client } from './client.ts';
import { until } from './service.ts';

type Asked = { token?: string | undefined; key?: string; secret?: string; from?: string };

/** One kept connection, and so one process behind it for as long as it is open. */
export class Door {
  readonly #base: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(base: string) {
    this.#base = base;
  }

  ask(method: string, path: string, { token, key, secret, from }: Asked = {}): Promise<Answer> {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(secret === undefined ? {} : { 'x-dispatcher-secret': secret }),
      ...(from === undefined ? {} : { 'x-forwarded-for': from }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#base}${path}`, { method, headers, agent: this.#agent }, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('error', reject)
          .on('end', () => {
            const answered = new Headers(response.headers as Record<string, string>);
            resolve({
              status: response.statusCode!,
              headers: answered,
              body: text === '' ? undefined : JSON.parse(text),
            });
          });
      });
      sent.on('error', reject).end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Connections to all processes of an installation: those of one address are handed out in turn. */
export class Doors {
  readonly all: Door[];

  constructor(bases: readonly string[]) {
    this.all = bases.flatMap((base) => Array.from({ length: 4 / bases.length }, () => new Door(base)));
  }

  /** The status at each door, one after the other. */
  async statuses(method: string, path: string, asked: Asked = {}): Promise<number[]> {
    const statuses: number[] = [];
    for (const door of this.all) statuses.push((await door.ask(method, path, asked)).status);
    return statuses;
  }

  /** Expects the status well within the minute for which a process caches data without a notification. */
  async expectSoon(status: number, path: string, asked: Asked): Promise<void> {
    const everywhere = async () => (await this.statuses('GET', path, asked)).every((one) => one === status);
    await until(`${path} answers ${status} at every door`, everywhere);
  }

  close(): void {
    for (const door of this.all) door.close();
  }
}

/** Loads as these are beyond what an address may do by default. */
export async function allowLoad(administrator: Client): Promise<void> {
  const { status } = await administrator.call('PATCH', '/api/v1/system/security/config', {
    dos_enabled: false,
    circuit_breaker_enabled: false,
  });
  if (status !== 200) throw new Error(`the security configuration answered ${status}`);
}
