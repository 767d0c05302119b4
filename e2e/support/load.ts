import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from './client.ts';

/** What became of the requests of a load. */
export type LoadReport = { statuses: Map<number, number>; failures: string[]; connections: number };

/** So that processes that are started meanwhile get at the processor, too. */
const pauseMs = 10;

/**
 * Requests over kept connections, in turn reading and writing. A connection that was cut under a
 * request is a failure, never tried again: what a browser's user would see.
 */
export class Load {
  readonly #client: Client;
  readonly #agent: Agent;
  readonly #report: LoadReport = { statuses: new Map(), failures: [], connections: 0 };
  readonly #senders: Promise<void>[];
  #stopped = false;

  constructor(client: Client, connections: number) {
    this.#client = client;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#senders = Array.from({ length: connections }, () => this.#send());
  }

  get answered(): number {
    return this.#report.statuses.values().reduce((sum, count) => sum + count, 0);
  }

  async stop(): Promise<LoadReport> {
    this.#stopped = true;
    await Promise.all(this.#senders);
    this.#agent.destroy();
    return this.#report;
  }

  async #send(): Promise<void> {
    const { statuses, failures } = this.#report;
    for (let number = 0; !this.#stopped; number++) {
      try {
        const status = await (number % 4 === 0
          ? this.#ask('POST', '/api/v1/secure/contacts', JSON.stringify({ firstName: `Number ${number}` }))
          : this.#ask('GET', '/api/v1/secure/contacts?limit=1'));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      } catch (error) {
        failures.push(String(error));
      }
      await sleep(pauseMs);
    }
  }

  #ask(method: string, path: string, body = ''): Promise<number> {
    const headers = {
      authorization: `Bearer ${this.#client.accessToken}`,
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#client.base}${path}`, { method, headers, agent: this.#agent }, (response) => {
        response
          .on('error', reject)
          .on('end', () => resolve(response.statusCode!))
          .resume();
      });
      sent.on('error', reject).on('socket', () => {
        if (!sent.reusedSocket) this.#report.connections++;
      });
      sent.end(body);
    });
  }
}
