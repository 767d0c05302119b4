import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '#app/config';
import { databaseAccess, openEmbeddedDatabase, type DatabaseAccess } from '#app/database-access';
import { announce, drainTimeoutMs, type Announced } from '#app/announcement';
import { HandOver } from '#app/worker-hand-over';
import { encodeAccess, protocol, tell, type FromWorker, type Served } from '#app/worker-messages';
import { collectFromAll } from '#app/worker-metrics';
import { whenServing } from '#app/worker-start';
import type { EmbeddedPostgres } from '#core/db/embedded/index';
import { createLogging, type Log } from '#core/log/log';

const firstPauseMs = 100;
const longestPauseMs = 10_000;
/** Deaths within so long of each other make the pauses grow. */
const deathWindowMs = 60_000;
/** Room for a worker to say why it could not stop in time, before it is ended. */
const killAfterMs = drainTimeoutMs + 1000;

/**
 * The process that owns the embedded PostgreSQL and the data folder, and serves nothing itself: WORKERS processes do.
 * It accepts connections and hands them out in turn. Sockets of their own on one port (SO_REUSEPORT)
 * would spare that, but whatever waits at such a socket is reset when its worker ends.
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
    // A stop that came meanwhile is the reason, and goes on.
    if (stopping !== undefined) return;
    await workers?.stop();
    await embedded?.stop();
    throw error;
  }
}

/** One of the WORKERS places; its process changes. */
type Place = { number: number; worker: Worker; deaths: number[] };

class Workers {
  readonly #config: Config;
  readonly #access: DatabaseAccess;
  readonly #log: Log;
  readonly #handOver: HandOver;
  readonly #places = new Set<Place>();
  readonly #stopping = new AbortController();
  #isReplacing = false;
  #replaceAgain = false;

  constructor(config: Config, access: DatabaseAccess, log: Log) {
    this.#config = config;
    this.#access = access;
    this.#log = log;
    this.#handOver = new HandOver(log);
  }

  /**
   * Resolves when the first one serves; the others follow.
   * @throws StartError with the reason of the first one where it cannot serve, or when the address cannot be had.
   */
  async start(): Promise<Announced> {
    const { worker, served } = await this.#launch();
    const port = await this.#handOver.listen(this.#config);
    this.#occupy({ number: 1, worker, deaths: [] }, worker);
    for (let number = 2; number <= this.#config.WORKERS; number++) void this.#fill({ number, worker, deaths: [] });
    return { ...served, port };
  }

  /** One after the other; asked meanwhile, once more from the beginning. */
  replaceAll(): void {
    this.#replaceAgain = true;
    if (!this.#isReplacing) void this.#replaceEach();
  }

  /** @returns whether everything under way was answered in time. */
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
      this.#log.info({ workers: this.#places.size }, 'replacing the workers one after the other');
      const places = Array.from(this.#places);
      for (const place of places) {
        if (this.#places.has(place) && !(await this.#replace(place))) break;
      }
    }
    this.#isReplacing = false;
  }

  async #replace(place: Place): Promise<boolean> {
    try {
      const retired = place.worker;
      const { worker } = await this.#launch();
      if (!this.#places.has(place) || place.worker !== retired) {
        // It has died meanwhile and gets a successor of its own.
        await this.#retire(worker);
        return true;
      }
      this.#occupy(place, worker);
      this.#log.info({ worker: retired.process.pid }, 'a worker is replaced and finishes what is under way');
      await this.#retire(retired);
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      this.#log.error({ reason: (error as Error).message }, 'a new worker does not start: the others go on serving');
      return false;
    }
  }

  /** Waits for its end, but not for the slowest download. */
  async #retire(worker: Worker): Promise<void> {
    this.#handOver.remove(worker);
    if (worker.isDead()) return;
    const ended = once(worker, 'exit');
    tell(worker, { kind: 'retire' });
    await Promise.race([ended, sleep(drainTimeoutMs, undefined, { ref: false })]);
  }

  /** Until the place is taken by a worker that serves. */
  async #fill(place: Place): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const { worker } = await this.#launch();
        this.#occupy(place, worker);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#log.error({ reason: (error as Error).message }, 'a worker does not start and will be tried again');
        await this.#pause(place);
      }
    }
  }

  #occupy(place: Place, worker: Worker): void {
    place.worker = worker;
    this.#places.add(place);
    worker.once('exit', (exitCode, signal) => {
      if (this.#stopping.signal.aborted || place.worker !== worker) return;
      this.#places.delete(place);
      this.#log.error({ worker: worker.process.pid, exitCode, signal }, 'a worker has ended and is replaced');
      void this.#pause(place).then(() => this.#fill(place));
    });
  }

  async #answerScrape(asking: Worker): Promise<void> {
    const serving = [...this.#places].map(({ number, worker }): [number, Worker] => [number, worker]);
    tell(asking, { kind: 'scraped', metrics: await collectFromAll(new Map(serving)) });
  }

  async #pause(place: Place): Promise<void> {
    place.deaths = [...place.deaths.filter((at) => at > Date.now() - deathWindowMs), Date.now()];
    const pauseMs = Math.min(firstPauseMs * 2 ** (place.deaths.length - 1), longestPauseMs);
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** @throws StartError when it ends instead of serving. */
  async #launch(): Promise<{ worker: Worker; served: Served }> {
    this.#stopping.signal.throwIfAborted();
    const worker = cluster.fork();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'scrape') void this.#answerScrape(worker);
    });
    const start = { kind: 'start', access: encodeAccess(this.#access), protocol } as const;
    const served = await whenServing(worker, { start, othersServe: this.#places.size > 0 });
    this.#handOver.add(worker);
    this.#log.info({ worker: worker.process.pid }, 'a worker serves');
    return { worker, served };
  }
}

function workersAlive(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[];
}
