import { isDamaged, isLockTimeout, isReadOnly } from '#core/data/db/sql-state';

/** What went wrong with the database, though it was there. */
export const faultKinds = ['read_only', 'damaged', 'lock_timeout', 'dead_connection', 'unreachable'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Number of occurrences of each fault, and the time of the last one. */
export type DatabaseFaults = {
  note(kind: FaultKind): void;
  counts(): Readonly<Record<FaultKind, number>>;
  /** Milliseconds since it was last met; Infinity where it never was. */
  sinceMs(kind: FaultKind): number;
};

export function createDatabaseFaults(): DatabaseFaults {
  const counts = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  const lastAt = new Map<FaultKind, number>();
  return {
    note(kind) {
      counts[kind] += 1;
      lastAt.set(kind, performance.now());
    },
    counts: () => counts,
    sinceMs: (kind) => performance.now() - (lastAt.get(kind) ?? -Infinity),
  };
}

export function faultOf(error: unknown): FaultKind | undefined {
  if (isDamaged(error)) return 'damaged';
  if (isReadOnly(error)) return 'read_only';
  return isLockTimeout(error) ? 'lock_timeout' : undefined;
}

/** A damaged page or index that a statement came across. */
export type Damage = {
  /** XX001 for data, XX002 for an index. */
  sqlState: string;
  /** Verb of the statement. */
  operation: string;
  /** Tables that the statement names. */
  tables: string[];
  /** Path of the relation's file in the words of PostgreSQL, where they name one. */
  file: string | undefined;
};

export function describeDamage(error: unknown, text: string): Damage {
  const { code, message } = error as Error & { code: string };
  const names = text.matchAll(/\b(?:from|join|into|update)\s+(?:only\s+)?"?([a-z_][\w$]*)/gi);
  return {
    sqlState: code,
    operation: /^\W*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'UNKNOWN',
    tables: [...new Set([...names].map(([, name]) => name!.toLowerCase()))],
    file: /\b(?:base|global|pg_tblspc)\/[\w./]+/.exec(message)?.[0],
  };
}
