import type { Actor, Person } from '#core/access/principal';
import { securitySetting, type SecurityConfig } from '#core/limits/config';
import type { Services } from '#core/services';
import type { SettingRecord } from '#core/settings/settings';
import { listVerdicts, lockIpRules } from '#modules/security/ip-rules.queries';
import { assertNoWorse, refusalBy } from '#modules/security/lock-out.rules';
import { WouldLockOut } from '#modules/security/security.errors';
import type { UpdateSecurityConfigBody } from '#modules/security/security.schemas';

type Scope = { services: Services; actor: Actor<Person>; force: boolean };

export async function getSecurityConfig({ runtimeSettings }: Services) {
  return { data: present(await runtimeSettings.read(securitySetting)) };
}

/** In force here when it resolves, in all other processes a moment later. @throws WouldLockOut */
export async function updateSecurityConfig({ services, actor, force }: Scope, body: UpdateSecurityConfigBody) {
  const { limits, runtimeSettings } = services;
  const address = actor.request.ip;
  if (!force) {
    // By the configuration as it is just now: to ask Redis, where many share their counts, no transaction waits.
    const { value: known } = await runtimeSettings.read(securitySetting);
    const exceeds = await limits.exceeds(address, { ...known, ...body });
    if (exceeds && !(await limits.exceeds(address, known))) throw WouldLockOut();
  }
  const record = await runtimeSettings.change(securitySetting, {
    action: 'security_config.updated',
    actor,
    lock: lockIpRules({}),
    apply: async (current, tx) => {
      const changed = { ...current, ...body };
      const now = services.now();
      const verdicts = await tx.all(listVerdicts({ address, now: now.toISOString() }));
      if (!force) assertNoWorse(refusalBy(verdicts, current, now), refusalBy(verdicts, changed, now));
      return changed;
    },
  });
  return { data: present(record) };
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
