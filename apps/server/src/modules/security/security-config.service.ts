import type { Actor, Person } from '#core/base/access/principal';
import type { SettingRecord } from '#core/data/settings/settings';
import { securitySetting, type SecurityConfig } from '#core/platform/limits/config';
import type { Services } from '#core/platform/services';
import { listVerdicts, lockIpRules } from '#modules/security/ip-rules.queries';
import { assertNoSelfLockout, refusalPeriod } from '#modules/security/lock-out.rules';
import { SelfLockout } from '#modules/security/security.errors';
import type { UpdateSecurityConfigBody } from '#modules/security/security.schemas';

type Dependencies = Pick<Services, 'limits' | 'now' | 'runtimeSettings'>;

type Scope = { services: Dependencies; actor: Actor<Person>; force: boolean };

export async function getSecurityConfig({ runtimeSettings }: Dependencies) {
  return { data: present(await runtimeSettings.read(securitySetting)) };
}

/** Applies in this process when it resolves, in all others a moment later. @throws SelfLockout */
export async function updateSecurityConfig({ services, actor, force }: Scope, body: UpdateSecurityConfigBody) {
  const { limits, runtimeSettings } = services;
  const address = actor.request.ip;
  if (!force) {
    // Uses the current configuration: no transaction waits for Redis, where several installations may share their
    // counts.
    const { value: known } = await runtimeSettings.read(securitySetting);
    const exceeds = await limits.exceeds(address, { ...known, ...body });
    if (exceeds && !(await limits.exceeds(address, known))) throw SelfLockout();
  }
  const record = await runtimeSettings.change(securitySetting, {
    action: 'security_config.updated',
    actor,
    lock: lockIpRules({}),
    apply: async (current, tx) => {
      const changed = { ...current, ...body };
      const now = services.now();
      const verdicts = await tx.all(listVerdicts({ address, now: now.toISOString() }));
      if (!force) assertNoSelfLockout(refusalPeriod(verdicts, current, now), refusalPeriod(verdicts, changed, now));
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
