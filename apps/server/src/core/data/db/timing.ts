/** Timeouts in milliseconds. Together they keep each request that the database cannot serve below 5 seconds. */
export type DatabaseTiming = {
  /** One statement on the server. */
  statementMs: number;
  /** Silence on a connection with a statement under way before it is dropped; more than `statementMs`. */
  stalledMs: number;
  /** The same for the primary pool, whose statements answer at once. */
  primaryStalledMs: number;
  /** Opening a connection, from the look-up of the name to its role. */
  connectMs: number;
  /** Waiting for a connection. */
  waitMs: number;
  /** Idle time after which a connection is tested before it gets work: a firewall may have dropped it. */
  idleTestMs: number;
  /** Timeout of such a test. */
  probeMs: number;
  /** Silence on a connection with a statement under way before the server itself is tested. */
  suspectMs: number;
  /** Silence on all connections after `suspectMs` before the server counts as unreachable. */
  silenceMs: number;
  /** Wait for a lock on the connections that carry many flights, on those that carry one, and on those kept for such waits. */
  primaryLockMs: number;
  interactiveLockMs: number;
  lockMs: number;
  /** Idle time after which the connections for lock waits are closed. */
  closeIdleMs: number;
  tickMs: number;
};

export const defaultTiming: DatabaseTiming = {
  statementMs: 4250,
  stalledMs: 4500,
  primaryStalledMs: 3000,
  connectMs: 2000,
  waitMs: 2000,
  idleTestMs: 5000,
  probeMs: 1000,
  suspectMs: 1000,
  silenceMs: 1500,
  primaryLockMs: 50,
  interactiveLockMs: 150,
  lockMs: 2000,
  closeIdleMs: 30_000,
  tickMs: 250,
};
