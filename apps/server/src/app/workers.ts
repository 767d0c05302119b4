import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { announce, drainTimeoutMs, type Announced } from '#app/announcement';
import { splitList, type Config } from '#app/config';
import { databaseAccess, openEmbeddedDatabase, type DatabaseAccess } from '#app/database-access';
import { HandOver } from '#app/worker-hand-over';
import { encodeAccess, protocol, tell, type FromWorker, type Served } from '#app/worker-messages';
import { collectFromAll } from '#app/worker-metrics';
import { whenServing } from '#app/worker-start';
import type { EmbeddedPostgres } from '#core/data/db/embedded/index';
import { createLogging, type Log } from '#core/data/log/log';
import { createConnectionBounds, type ConnectionBounds } from '#core/http/connection-bounds';

const firstPauseMs = 100;
const maxPauseMs = 10_000;
/** Deaths within this window make the pauses grow. */
const deathWindowMs = 60_000;
/** Leaves a worker time to log why it could not stop, before it is killed. */
const killAfterMs = drainTimeoutMs + 1000;

/**
 * The process that owns the embedded PostgreSQL and the data folder. It accepts connections and hands them to WORKERS processes in
 * turn; it serves no requests itself. Separate sockets on one port (SO_REUSEPORT) would save this step, but connections that wait at
 * such a socket are reset when its worker ends.
 */
export async function superviseWorkers(config: Config): Promise<void> {
  const { log } = createLogging({ level: config.LOG_LEVEL, sharesOutput: true });
  let embedded: EmbeddedPostgres | undefined;
  let workers: Workers | undefined;
  let stopping: Promise<void> | undefined;
  const stop = () =>
    (stopping ??= (async () => {
      const drained = (await workers?.stop()) ?? true;
      await embedded?.stop();
      process.exit(drained ? 0 : 1);
    })());
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  process.on('SIGHUP', () => workers?.replaceAll());
  try {
    embedded = await openEmbeddedDatabase(config, log);
    workers = new Workers(config, await databaseAccess(config, embedded), log.child({ service: 'workers' }));
    announce(await workers.start(), config);
  } catch (error) {
    // A concurrent stop is the cause, and it continues.
    if (stopping !== undefined) return;
    await workers?.stop();
    await embedded?.stop();
    throw error;
  }
}

/** One of the WORKERS positions; its process changes. */
type Position = { number: number; worker: Worker; deaths: number[] };

class Workers {
  readonly #config: Config;
  readonly #access: DatabaseAccess;
  readonly #log: Log;
  readonly #bounds: ConnectionBounds;
  readonly #handOver: HandOver;
  readonly #positions = new Set<Position>();
  readonly #stopping = new AbortController();
  #isReplacing = false;
  #replaceAgain = false;

  constructor(config: Config, access: DatabaseAccess, log: Log) {
    this.#config = config;
    this.#access = access;
    this.#log = log;
    this.#bounds = createConnectionBounds({
      maxPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
      trustedProxies: splitList(config.TRUSTED_PROXIES),
      log,
      now: Date.now,
    });
    this.#handOver = new HandOver(log, this.#bounds);
  }

  /**
   * Resolves when the first worker serves; the others follow.
   * @throws StartError if the first worker cannot serve, or the address is not available.
   */
  async start(): Promise<Announced> {
    const { worker, served } = await this.#launch();
    const port = await this.#handOver.listen(this.#config);
    this.#occupy({ number: 1, worker, deaths: [] }, worker);
    for (let number = 2; number <= this.#config.WORKERS; number++) void this.#fill({ number, worker, deaths: [] });
    return { ...served, port };
  }

  /** Replaces the workers one by one; a call meanwhile starts another round afterwards. */
  replaceAll(): void {
    this.#replaceAgain = true;
    if (!this.#isReplacing) void this.#replaceEach();
  }

  /** @returns whether all running requests were answered in time. */
  async stop(): Promise<boolean> {
    this.#stopping.abort();
    this.#handOver.close();
    const running = workersAlive();
    const codes = await Promise.all(
      running.map(async (worker) => {
        const ended = once(worker, 'exit') as Promise<[code: number | null]>;
        tell(worker, { kind: 'stop' });
        const timer = setTimeout(() => worker.process.kill('SIGKILL'), killAfterMs);
        const [code] = await ended;
        clearTimeout(timer);
        return code;
      }),
    );
    return codes.every((code) => code === 0);
  }

  async #replaceEach(): Promise<void> {
    this.#isReplacing = true;
    while (this.#replaceAgain && !this.#stopping.signal.aborted) {
      this.#replaceAgain = false;
      this.#log.info({ workers: this.#positions.size }, 'replacing the workers one after the other');
      const positions = Array.from(this.#positions);
      for (const position of positions) {
        if (this.#positions.has(position) && !(await this.#replace(position))) break;
      }
    }
    this.#isReplacing = false;
  }

  async #replace(position: Position): Promise<boolean> {
    try {
      const retired = position.worker;
      const { worker } = await this.#launch();
      if (!this.#positions.has(position) || position.worker !== retired) {
        // The worker has died meanwhile and already gets a successor.
        await this.#retire(worker);
        return true;
      }
      this.#occupy(position, worker);
      this.#log.info({ worker: retired.process.pid }, 'a worker is replaced and finishes its requests');
      await this.#retire(retired);
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      this.#log.error(
        { reason: (error as Error).message },
        'a new worker does not start: the others continue to serve',
      );
      return false;
    }
  }

  /** Waits for the end of a worker, but not for its slowest download. */
  async #retire(worker: Worker): Promise<void> {
    this.#handOver.remove(worker);
    if (worker.isDead()) return;
    const ended = once(worker, 'exit');
    tell(worker, { kind: 'retire' });
    await Promise.race([ended, sleep(drainTimeoutMs, undefined, { ref: false })]);
  }

  /** Starts workers until one serves at this position. */
  async #fill(position: Position): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const { worker } = await this.#launch();
        this.#occupy(position, worker);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#log.error({ reason: (error as Error).message }, 'a worker does not start; retrying');
        await this.#pause(position);
      }
    }
  }

  #occupy(position: Position, worker: Worker): void {
    position.worker = worker;
    this.#positions.add(position);
    worker.once('exit', (exitCode, signal) => {
      if (this.#stopping.signal.aborted || position.worker !== worker) return;
      this.#positions.delete(position);
      this.#log.error({ worker: worker.process.pid, exitCode, signal }, 'a worker has ended and is replaced');
      void this.#pause(position).then(() => this.#fill(position));
    });
  }

  async #answerScrape(requester: Worker): Promise<void> {
    const serving = [...this.#positions].map(({ number, worker }): [number, Worker] => [number, worker]);
    const refusedByAddress = this.#bounds.refused();
    tell(requester, { kind: 'scraped', metrics: await collectFromAll(new Map(serving), { refusedByAddress }) });
  }

  async #pause(position: Position): Promise<void> {
    position.deaths = [...position.deaths.filter((at) => at > Date.now() - deathWindowMs), Date.now()];
    const pauseMs = Math.min(firstPauseMs * 2 ** (position.deaths.length - 1), maxPauseMs);
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** @throws StartError if the worker ends instead of serving. */
  async #launch(): Promise<{ worker: Worker; served: Served }> {
    this.#stopping.signal.throwIfAborted();
    const worker = cluster.fork();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'scrape') void this.#answerScrape(worker);
    });
    const start = { kind: 'start', access: encodeAccess(this.#access), protocol } as const;
    const served = await whenServing(worker, { start, othersServe: this.#positions.size > 0 });
    this.#handOver.add(worker);
    this.#log.info({ worker: worker.process.pid }, 'a worker serves');
    return { worker, served };
  }
}

function workersAlive(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[];
}
