import type { Health, ServiceState } from '#core/platform/health/health';
import type { Alerts, Tally } from '#core/platform/jobs/alerts';
import type { HealthStatus } from '#core/platform/jobs/dispatches.queries';
import { quietAfterMs } from '#core/platform/jobs/secret';
import type { BoundJob } from '#core/platform/jobs/terms';

/** Interval of health checks while no job runs. */
const watchEveryMs = 60_000;

/** Checks the parts of the installation, raises an alert for each that is unhealthy, and resolves alerts without a cause. */
export type Watch = {
  look(tally: Tally): Promise<HealthStatus>;
  /** No dispatch for a minute. */
  isDue(): boolean;
};

type Options = { alerts: Alerts; health: Pick<Health, 'states'>; jobs: readonly BoundJob[]; now(): Date };

export function createWatch({ alerts, health, jobs, now }: Options): Watch {
  const names = jobs.map((job) => job.name);
  let lookedAt = -Infinity;
  return {
    isDue: () => Math.abs(now().getTime() - lookedAt) >= watchEveryMs,
    async look(tally) {
      lookedAt = now().getTime();
      const states = await health.states();
      for (const { name, message } of states.filter((state) => state.status === 'unhealthy')) {
        const title = `${name} is unhealthy`;
        await alerts.raise({ type: 'service_unhealthy', subject: name, severity: 'critical', title, message }, tally);
      }
      const well = states.filter((state) => state.status !== 'unhealthy').map((state) => state.name);
      await alerts.resolve('service_unhealthy', well);
      await alerts.resolveQuiet('unauthorized_calls', quietAfterMs);
      await alerts.resolveOrphans(names);
      return {
        overall: overallOf(states),
        services: states.map(({ name, status, message }) => ({ service_name: name, status, message })),
      };
    },
  };
}

/** One part that is not healthy is enough for the whole. */
export function overallOf(states: readonly Pick<ServiceState, 'status'>[]): HealthStatus['overall'] {
  return states.every((state) => state.status === 'healthy') ? 'healthy' : 'degraded';
}
