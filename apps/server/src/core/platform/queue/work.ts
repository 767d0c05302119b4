import type { Attempt, BoundWork, WorkTerms } from '#core/platform/queue/terms';
import type { Services } from '#core/platform/services';

/**
 * What a module does in the background, declared in the module that it belongs to. May be run more often than once: by two
 * processes, where one was taken for dead.
 */
export type Work<Data extends object = object> = WorkTerms & {
  run(context: Attempt<Data> & { services: Services }): Promise<void>;
};

/** The work of a module, given the services under the name of the module. */
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
