import type { Query } from '#core/db/query';
import { watchDatabase } from '#core/db/watched';
import type { Services } from '#core/services';

/** What a request may have done so far. */
export type Doings = {
  /** To be used instead: they know what is done through them. */
  readonly services: Services;
  /** Whether anything may have been written. */
  mayHaveWritten(): boolean;
  /** Whether anything that the audit trail tells of may have been done; counters and health of providers are not. */
  mayHaveChanged(): boolean;
};

export function watchDoings(services: Services): Doings {
  const { database, dispatcher, runtimeSettings } = services;
  let writes = 0;
  let changes = 0;
  const note = ({ text }: Query<unknown>) => {
    if (!writing.test(text)) return () => undefined;
    const recorded = text.includes('audit_logs') ? 1 : 0;
    writes += 1;
    changes += recorded;
    return () => {
      writes -= 1;
      changes -= recorded;
    };
  };
  // They have a database of their own, and so it is never certain that they did nothing.
  const noting = <Work extends (...given: never[]) => unknown>(work: Work): Work =>
    ((...given: never[]) => {
      writes += 1;
      changes += 1;
      return work(...given);
    }) as Work;
  return {
    services: {
      ...services,
      database: watchDatabase(database, note),
      dispatcher: { ...dispatcher, runNow: noting(dispatcher.runNow) },
      runtimeSettings: { ...runtimeSettings, change: noting(runtimeSettings.change) },
    },
    mayHaveWritten: () => writes > 0,
    mayHaveChanged: () => changes > 0,
  };
}

/** A lock (`for update`) is no write. */
const writing = /\b(insert\s+into|delete\s+from|(?<!\bfor\s+|\bfor\s+no\s+key\s+)update)\b/i;
