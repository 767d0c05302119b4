const dayMs = 86_400_000;

/** Known keys of `tenants.settings`; other keys are kept. */
export type TenantSettings = {
  requires2fa?: boolean;
  twoFactorGraceDays?: number;
  /** Time at which the second factor became required. */
  requires2faSince?: string;
  /** End of the grace period, which the sessions of the tenant read. */
  twoFactorRequiredFrom?: string;
};

export type SettingsChange = Pick<TenantSettings, 'requires2fa' | 'twoFactorGraceDays'>;

/** The grace period starts when the second factor becomes required; later changes do not restart it. */
export function changeSettings(current: TenantSettings, change: SettingsChange, now: Date): TenantSettings {
  const { requires2faSince, twoFactorRequiredFrom: _before, ...rest } = { ...current, ...change };
  if (rest.requires2fa !== true) return rest;
  const since = current.requires2fa === true && requires2faSince !== undefined ? requires2faSince : now.toISOString();
  const from = Date.parse(since) + (rest.twoFactorGraceDays ?? 0) * dayMs;
  return { ...rest, requires2faSince: since, twoFactorRequiredFrom: new Date(from).toISOString() };
}

/** The status of a tenant: who has access, and until when its deletion can be reverted. */
export type TenantState = {
  status: 'active' | 'suspended' | 'pending_deletion' | 'deleted';
  suspended_at: string | null;
  deletes_at: string | null;
};

export type Transition = 'suspend' | 'activate' | 'delete' | 'restore';

/** Actions in the audit trail. */
export const tenantActions = {
  suspend: 'tenant.suspended',
  activate: 'tenant.activated',
  delete: 'tenant.deletion_requested',
  restore: 'tenant.restored',
} as const satisfies Record<Transition, string>;

/** False after the grace period: the tenant then answers like an unknown one. */
export function isVisible(
  { status, deletes_at: deletesAt }: Pick<TenantState, 'status' | 'deletes_at'>,
  now: Date,
): boolean {
  return status !== 'deleted' && (deletesAt === null || Date.parse(deletesAt) > now.getTime());
}

/** The status after the transition; undefined if the current status does not permit it. */
export function applyTransition(
  current: TenantState,
  move: Transition,
  { now, graceDays }: { now: Date; graceDays: number },
) {
  const { status, suspended_at: suspendedAt } = current;
  const moves: Record<Transition, TenantState | false> = {
    suspend: status === 'active' && { ...current, status: 'suspended', suspended_at: now.toISOString() },
    activate: status === 'suspended' && { ...current, status: 'active', suspended_at: null },
    delete: (status === 'active' || status === 'suspended') && {
      ...current,
      status: 'pending_deletion',
      deletes_at: new Date(now.getTime() + graceDays * dayMs).toISOString(),
    },
    // A tenant that was suspended before the deletion is suspended again.
    restore: status === 'pending_deletion' && {
      ...current,
      status: suspendedAt === null ? 'active' : 'suspended',
      deletes_at: null,
    },
  };
  return moves[move] || undefined;
}
