import type pg from 'pg';

import type { Within } from '#core/base/tracing/tracing';
import { createDatabaseFaults, type Damage, type DatabaseFaults } from '#core/data/db/faults';
import { createLockWaits } from '#core/data/db/lock-waits';
import { Pool, type ConnectionLoad } from '#core/data/db/pool';
import { startPulse } from '#core/data/db/pulse';
import type { Query } from '#core/data/db/query';
import { Scope, type Pools, type ScopeOptions } from '#core/data/db/scope';
import type { CredentialDb, PlatformDb, PurgeDb, TenantDb } from '#core/data/db/scopes';
import { assertRole, connectionAs, prelude, type RoleKind } from '#core/data/db/session';
import { defaultTiming, type DatabaseTiming } from '#core/data/db/timing';

export { enterTenant } from '#core/data/db/session';

type PoolName = keyof Pools;
/** Connections of each role; those for lock waits open when there is something to wait for, and close when they rest. */
const poolSizes: Record<RoleKind, Record<PoolName, number>> = {
  tenant: { primary: 2, interactive: 8, locks: 4 },
  platform: { primary: 2, interactive: 2, locks: 1 },
  credential: { primary: 2, interactive: 8, locks: 4 },
  purge: { primary: 2, interactive: 1, locks: 1 },
};
const fastDepth = 64;

export type DatabaseOptions = {
  /** The login that owns the schema; every pool steps down from it to its own role. */
  connection: pg.ClientConfig;
  /** A transaction pooler stands between: roles are taken per transaction, not per connection. */
  pooled?: boolean;
  /** Named statements; off for poolers that lose them. */
  preparedStatements?: boolean;
  /** Citus: the tenant reaches the workers only inside BEGIN … COMMIT. */
  explicitTransactions?: boolean;
  timing?: Partial<DatabaseTiming>;
  /** Told of every batch and transaction of a request. */
  within?: Within | undefined;
  /** Told of each statement that came across damaged data. */
  onDamage?: ScopeOptions['onDamage'];
};

/** One process's access to PostgreSQL. Only `core/data/db` can make the scoped types it hands out. */
export type Database = {
  tenant(tenantId: string): TenantDb;
  platform(): PlatformDb;
  /** Without a tenant: global identity tables only. With one: also that tenant's rows, under its policies. */
  credential(tenantId?: string): CredentialDb;
  /** For the end of a tenant and nothing else: its connections open when the first statement comes. */
  purge(tenantId: string): PurgeDb;
  /** Load of the connections by role. */
  pools(): PoolLoad[];
  /** What went wrong with the server though it was there. */
  readonly faults: Pick<DatabaseFaults, 'counts' | 'sinceMs'>;
  close(): Promise<void>;
};

export type PoolLoad = ConnectionLoad & { role: RoleKind; pool: PoolName };

export function openDatabase(options: DatabaseOptions): Database {
  const timing = { ...defaultTiming, ...options.timing };
  const faults = createDatabaseFaults();
  const pulse = startPulse({
    pools: () => Object.values(pools).flatMap((ofRole) => Object.values(ofRole)),
    asking: () => pools.platform.primary,
    timing,
    onUnreachable: () => faults.note('unreachable'),
  });
  const opening: Opening = {
    options,
    timing,
    refusal: () => pulse.refusal(),
    onDead: () => {
      faults.note('dead_connection');
      pulse.dropIdle();
    },
    onFailedOpening: (error) => pulse.noteFailedOpening(error),
  };
  const pools: Record<RoleKind, Pools> = {
    tenant: openPools('tenant', opening),
    platform: openPools('platform', opening),
    credential: openPools('credential', opening),
    purge: openPools('purge', opening),
  };
  const scopeOptions: ScopeOptions = {
    preparedStatements: options.preparedStatements ?? true,
    explicitTransactions: options.explicitTransactions ?? false,
    within: options.within,
    lockWaits: createLockWaits(timing.interactiveLockMs),
    faults,
    onDamage: options.onDamage ?? ((_damage: Damage) => undefined),
    onReadOnly: () => pulse.noteReadOnly(),
  };
  const scope = (kind: RoleKind, tenantId?: string) =>
    new Scope(pools[kind], preludeOf(kind, tenantId, { options, timing }), scopeOptions, tenantId);
  const platform = scope('platform') as unknown as PlatformDb;
  const credential = scope('credential') as unknown as CredentialDb;
  return {
    tenant: (tenantId) => scope('tenant', tenantId) as unknown as TenantDb,
    platform: () => platform,
    credential: (tenantId) =>
      tenantId === undefined ? credential : (scope('credential', tenantId) as unknown as CredentialDb),
    purge: (tenantId) => scope('purge', tenantId) as unknown as PurgeDb,
    pools: () =>
      (Object.keys(pools) as RoleKind[]).flatMap((role) =>
        (Object.keys(pools[role]) as PoolName[]).map((pool) => ({ role, pool, ...pools[role][pool].load() })),
      ),
    faults,
    close: async () => {
      pulse.close();
      const all = Object.values(pools).flatMap((ofRole) => Object.values(ofRole));
      await Promise.all(all.map((pool) => pool.close()));
    },
  };
}

type Opening = {
  options: DatabaseOptions;
  timing: DatabaseTiming;
  refusal(): Error | undefined;
  onDead(): void;
  onFailedOpening(error: Error): void;
};

function openPools(kind: RoleKind, { options, timing, ...signals }: Opening): Pools {
  const { primary, interactive, locks } = poolSizes[kind];
  const { statementMs } = timing;
  const connecting = (lockMs: number, hasGenericPlans = false) => ({
    ...signals,
    timing,
    connection: connectionAs(kind, options, { statementMs, lockMs, hasGenericPlans }),
    onConnect: options.pooled ? undefined : (client: pg.Client) => assertRole(client, kind),
  });
  return {
    primary: new Pool({
      ...connecting(timing.primaryLockMs, true),
      timing: { ...timing, stalledMs: timing.primaryStalledMs },
      size: primary,
      depth: fastDepth,
      share: shareOf(kind, primary * fastDepth, 0.5),
      maxWaiting: 1000,
    }),
    interactive: new Pool({
      ...connecting(timing.interactiveLockMs),
      size: interactive,
      depth: 1,
      share: shareOf(kind, interactive, 0.75),
      maxWaiting: 200,
    }),
    locks: new Pool({
      ...connecting(timing.lockMs),
      size: locks,
      depth: 1,
      share: shareOf(kind, locks, 0.5),
      maxWaiting: 200,
      closeIdleMs: timing.closeIdleMs,
    }),
  };
}

/** Connections of a shared pool that one tenant may use, so that no tenant can occupy it. */
function shareOf(kind: RoleKind, size: number, part: number): number {
  return kind === 'tenant' || kind === 'credential' ? Math.ceil(size * part) : size;
}

function preludeOf(
  kind: RoleKind,
  tenantId: string | undefined,
  { options, timing }: Pick<Opening, 'options' | 'timing'>,
): (pool: PoolName) => readonly Query<unknown>[] {
  if (options.pooled !== true) {
    const entry = prelude(kind, tenantId, undefined);
    return () => entry;
  }
  const { statementMs } = timing;
  const lockMs = { primary: timing.primaryLockMs, interactive: timing.interactiveLockMs, locks: timing.lockMs };
  return (pool) => prelude(kind, tenantId, { statementMs, lockMs: lockMs[pool] });
}
