import type pg from 'pg';

import type { Query, ReadStatement } from '#core/data/db/query';
import type { DatabaseTiming } from '#core/data/db/timing';

export const databaseRoles = {
  tenant: 'atrium_tenant',
  platform: 'atrium_platform',
  credential: 'atrium_credential',
  purge: 'atrium_purge',
} as const;

export type RoleKind = keyof typeof databaseRoles;

type Connecting = { connection: pg.ClientConfig; pooled?: boolean };

/** What a pool asks of its sessions; times in milliseconds. */
export type SessionTerms = { statementMs: number; lockMs: number; hasGenericPlans: boolean };

/** How a connection comes up in its role; behind a pooler settings are taken with each transaction instead. */
export function connectionAs(kind: RoleKind, options: Connecting, terms: SessionTerms): pg.ClientConfig {
  const base = { ...options.connection, application_name: databaseRoles[kind] };
  if (options.pooled) return base;
  const settings = [
    'timezone=UTC',
    `statement_timeout=${terms.statementMs}`,
    `lock_timeout=${terms.lockMs}`,
    'idle_in_transaction_session_timeout=10000',
    `role=${databaseRoles[kind]}`,
    // These queries have a fixed text and start with the tenant, so one plan serves all values; by default PostgreSQL would
    // plan a LIMIT parameter again each time, which costs more than running it.
    ...(terms.hasGenericPlans ? ['plan_cache_mode=force_generic_plan'] : []),
  ];
  return { ...base, options: settings.map((setting) => `-c ${setting}`).join(' ') };
}

/** The statements with which each transaction begins. */
export function prelude(
  kind: RoleKind,
  tenantId: string | undefined,
  terms: Pick<DatabaseTiming, 'statementMs' | 'lockMs'> | undefined,
): readonly Query<unknown>[] {
  if (terms !== undefined) {
    const enter: Query<never> = {
      kind: 'read',
      text: 'select app_enter($1, $2)',
      values: [databaseRoles[kind], tenantId ?? null],
      prepare: true,
    };
    return [enter, limitTo('lock_timeout', terms.lockMs), limitTo('statement_timeout', terms.statementMs)];
  }
  return tenantId === undefined ? [] : [enterTenant(tenantId)];
}

/** Until the end of the transaction; SET takes no parameters. */
function limitTo(setting: 'lock_timeout' | 'statement_timeout', ms: number): Query<never> {
  return { kind: 'read', text: `set local ${setting} = ${ms}`, values: [], prepare: true };
}

/** Enters a tenant in the middle of an interactive credential transaction that spans several of a person's tenants. */
export function enterTenant(tenantId: string): ReadStatement<never> {
  return { kind: 'read', text: 'select app_tenant($1)', values: [tenantId], prepare: true };
}

/** @throws Error when something between has dropped the startup options */
export async function assertRole(client: pg.Client, kind: RoleKind): Promise<void> {
  const role = databaseRoles[kind];
  const { rows } = await client.query<{ role: string }>('select current_user as role');
  if (rows[0]?.role !== role) {
    throw new Error(
      `the connection came up as "${rows[0]?.role}" instead of "${role}": a pooler drops startup options; ` +
        'set DATABASE_DIRECT_URL to the database itself, then roles are taken per transaction',
    );
  }
}
