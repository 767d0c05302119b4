import { isAlive, until, type Service, type StartOptions, type Workplace } from './service.ts';

/** The processes that have said that they serve, in that order, and have not ended since. */
export function workersOf(service: Service): number[] {
  return launchedBy(service).filter((pid) => isAlive(pid));
}

/** The same with those that have ended. */
export function launchedBy({ stdout }: Service): number[] {
  return linesOf(stdout, 'a worker serves').map((line) => line.worker as number);
}

/** Lines of the log with this message. */
export function linesOf(stdout: string, message: string): any[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes(`"${message}"`))
    .map((line) => JSON.parse(line));
}

/** A start with two workers, once both serve. */
export async function startWorkers(workplace: Workplace, options: StartOptions): Promise<Service> {
  const service = await workplace.start({ ...options, env: { ...options.env, WORKERS: '2' } });
  await until('both workers serve', () => workersOf(service).length === 2, 90_000);
  return service;
}
