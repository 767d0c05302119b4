import type { Attempt, BoundWork, WorkTerms } from '#core/platform/queue/terms';
import type { Services } from '#core/platform/services';

/**
 * A background task, declared in the module that it belongs to. Delivery is at least once: two processes may run it if one
 * counts as dead.
 */
export type Work<Data extends object = object> = WorkTerms & {
  run(context: Attempt<Data> & { services: Services }): Promise<void>;
};

/** The tasks of a module, bound to services that log under the name of the module. */
export function bindWork(
  { name, work = [] }: { name: string; work?: readonly Work[] },
  services: () => Services,
): BoundWork[] {
  return work.map((one) => ({
    ...one,
    run: (attempt) => {
      const all = services();
      return one.run({ ...attempt, services: { ...all, log: all.log.child({ service: name }) } });
    },
  }));
}
