const dayMs = 86_400_000;

/** What `tenants.settings` holds; other keys are not ours and stay. */
export type TenantSettings = {
  requires2fa?: boolean;
  twoFactorGraceDays?: number;
  /** When the second factor was made a duty. */
  requires2faSince?: string;
  /** From when on it is asked for: what the sessions of the tenant look at. */
  twoFactorRequiredFrom?: string;
};

export type SettingsChange = Pick<TenantSettings, 'requires2fa' | 'twoFactorGraceDays'>;

/** The grace counts from when the second factor was made a duty, however often it is changed afterwards. */
export function changeSettings(current: TenantSettings, change: SettingsChange, now: Date): TenantSettings {
  const { requires2faSince, twoFactorRequiredFrom: _before, ...rest } = { ...current, ...change };
  if (rest.requires2fa !== true) return rest;
  const since = current.requires2fa === true && requires2faSince !== undefined ? requires2faSince : now.toISOString();
  const from = Date.parse(since) + (rest.twoFactorGraceDays ?? 0) * dayMs;
  return { ...rest, requires2faSince: since, twoFactorRequiredFrom: new Date(from).toISOString() };
}

/** How a tenant stands: who of it gets in, and until when its deletion can be taken back. */
export type Standing = {
  status: 'active' | 'suspended' | 'pending_deletion' | 'deleted';
  suspended_at: string | null;
  deletes_at: string | null;
};

export type Move = 'suspend' | 'activate' | 'delete' | 'restore';

/** What the audit trail calls them. */
export const tenantActions = {
  suspend: 'tenant.suspended',
  activate: 'tenant.activated',
  delete: 'tenant.deletion_requested',
  restore: 'tenant.restored',
} as const satisfies Record<Move, string>;

/** False once the days of grace are over: from then on the tenant answers as one that never was. */
export function isThere(
  { status, deletes_at: deletesAt }: Pick<Standing, 'status' | 'deletes_at'>,
  now: Date,
): boolean {
  return status !== 'deleted' && (deletesAt === null || Date.parse(deletesAt) > now.getTime());
}

/** How the tenant stands after the move; undefined when it cannot be made from where it stands. */
export function moved(current: Standing, move: Move, { now, graceDays }: { now: Date; graceDays: number }) {
  const { status, suspended_at: suspendedAt } = current;
  const moves: Record<Move, Standing | false> = {
    suspend: status === 'active' && { ...current, status: 'suspended', suspended_at: now.toISOString() },
    activate: status === 'suspended' && { ...current, status: 'active', suspended_at: null },
    delete: (status === 'active' || status === 'suspended') && {
      ...current,
      status: 'pending_deletion',
      deletes_at: new Date(now.getTime() + graceDays * dayMs).toISOString(),
    },
    // A tenant that was suspended before is so again.
    restore: status === 'pending_deletion' && {
      ...current,
      status: suspendedAt === null ? 'active' : 'suspended',
      deletes_at: null,
    },
  };
  return moves[move] || undefined;
}
