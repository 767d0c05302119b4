import type { Query } from '#core/data/db/query';
import { watchDatabase } from '#core/data/db/watched';
import type { Services } from '#core/platform/services';

/** The side effects that a request may have had so far. */
export type SideEffects = {
  /** To be used in place of the given services: these count side effects. */
  readonly services: Services;
  /** Whether anything may have been written. */
  mayHaveWritten(): boolean;
  /** Whether anything that the audit trail records may have been done; counters and provider health are not recorded there. */
  mayHaveChanged(): boolean;
};

export function trackSideEffects(services: Services): SideEffects {
  const { database, dispatcher, runtimeSettings } = services;
  let writes = 0;
  let changes = 0;
  const countWrite = ({ kind }: Query<unknown>) => {
    if (kind === 'read' || kind === 'lock') return () => undefined;
    const recorded = kind === 'audited' ? 1 : 0;
    writes += 1;
    changes += recorded;
    return () => {
      writes -= 1;
      changes -= recorded;
    };
  };
  // These use a database of their own, so it is never certain that they did nothing.
  const counting = <Work extends (...given: never[]) => unknown>(work: Work): Work =>
    ((...given: never[]) => {
      writes += 1;
      changes += 1;
      return work(...given);
    }) as Work;
  return {
    services: {
      ...services,
      database: watchDatabase(database, countWrite),
      dispatcher: { ...dispatcher, runNow: counting(dispatcher.runNow) },
      runtimeSettings: { ...runtimeSettings, change: counting(runtimeSettings.change) },
    },
    mayHaveWritten: () => writes > 0,
    mayHaveChanged: () => changes > 0,
  };
}
