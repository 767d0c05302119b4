import type { Actor, Person } from '#core/access/principal';
import { securitySetting, type SecurityConfig } from '#core/limits/config';
import type { Services } from '#core/services';
import type { SettingRecord } from '#core/settings/settings';
import { WouldLockOut } from '#modules/security/security.errors';
import type { UpdateSecurityConfigBody } from '#modules/security/security.schemas';

type Scope = { services: Services; actor: Actor<Person>; force: boolean };

export async function getSecurityConfig({ runtimeSettings }: Services) {
  return { data: present(await runtimeSettings.read(securitySetting)) };
}

/** In force here when it resolves, in all other processes a moment later. @throws WouldLockOut */
export async function updateSecurityConfig({ services, actor, force }: Scope, body: UpdateSecurityConfigBody) {
  const { runtimeSettings } = services;
  const { value: before } = await runtimeSettings.read(securitySetting);
  if (!force && (await locksOut(services, actor.request.ip, { before, after: { ...before, ...body } }))) {
    throw WouldLockOut();
  }
  const record = await runtimeSettings.change(securitySetting, {
    action: 'security_config.updated',
    actor,
    apply: (current) => ({ ...current, ...body }),
  });
  return { data: present(record) };
}

async function locksOut(
  services: Services,
  address: string,
  { before, after }: { before: SecurityConfig; after: SecurityConfig },
): Promise<boolean> {
  const isRefused = async (config: SecurityConfig) => {
    const { rules } = services.limits;
    if (rules.isAllowed(address)) return false;
    return (config.ip_blacklist_enabled && rules.isBlocked(address)) || services.limits.exceeds(address, config);
  };
  return (await isRefused(after)) && !(await isRefused(before));
}

function present({ value, row }: SettingRecord<SecurityConfig>) {
  return {
    id: row.id,
    ...value,
    created_at: row.created_at,
    updated_at: row.updated_at,
    updated_by: row.updated_by,
  };
}
