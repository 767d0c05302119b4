import type { Services } from '#core/services';

/** State of something the service depends on; words only, no hosts and no inner errors. */
export type ServiceState = {
  status: 'healthy' | 'unhealthy';
  message: string;
  responseTime: number;
  timestamp: string;
};

export type Probe = () => Promise<ServiceState>;

const cacheMs = 5000;
const limitMs = 1000;

/** Asks PostgreSQL for a sign of life: at most once in 5 seconds, in at most one, however many callers ask. */
export function createDatabaseProbe(services: Pick<Services, 'database' | 'now'>): Probe {
  let last: ServiceState | undefined;
  let running: Promise<ServiceState> | undefined;

  async function measure(): Promise<ServiceState> {
    const started = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const answered = await Promise.race([
      services.database
        .platform()
        .all({ text: 'select 1', values: [], prepare: true })
        .then(
          () => true,
          () => false,
        ),
      new Promise<false>((resolve) => (timer = setTimeout(resolve, limitMs, false).unref())),
    ]);
    clearTimeout(timer);
    last = {
      status: answered ? 'healthy' : 'unhealthy',
      message: answered ? 'reachable' : 'not reachable',
      responseTime: Math.round((performance.now() - started) * 10) / 10,
      timestamp: services.now().toISOString(),
    };
    return last;
  }

  return () => {
    // A failure is not cached: the answer right after a recovery should be the recovery.
    const isFresh = last?.status === 'healthy' && services.now().getTime() - Date.parse(last.timestamp) < cacheMs;
    if (last !== undefined && isFresh) return Promise.resolve(last);
    running ??= measure().finally(() => (running = undefined));
    return running;
  };
}
