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
