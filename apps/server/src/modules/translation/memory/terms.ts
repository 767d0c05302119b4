import { systemTenantId } from '#core/access/principal';
import { securitySetting } from '#core/limits/config';
import type { Services } from '#core/services';
import { findSwitchedOff } from '#modules/translation/memory/memory.queries';
import type { TranslationOperation } from '#modules/translation/scope';

/** What of memory may be used: nothing that is older than `notBefore`. */
export type Terms = { isUsable: boolean; notBefore: string };

type Needed = Pick<Services, 'database' | 'now' | 'runtimeSettings'>;
type Known = Terms & { at: number };

/** So long an answer counts: to ask for each text that is remembered would cost as much as the text. */
const freshMs = 1000;

const known = new WeakMap<Services['database'], Map<TranslationOperation, Known>>();

/** Whether caches are on, and the installation lets anybody use the operation; as it was at most a second ago. */
export function termsOf(services: Needed, operation: TranslationOperation): Terms | Promise<Terms> {
  const terms = known.get(services.database)?.get(operation);
  const at = services.now().getTime();
  return terms !== undefined && Math.abs(at - terms.at) < freshMs ? terms : ask(services, operation, at);
}

/** For how long translations are remembered; not at all where caches are switched off. */
export function memoryLifeMs({ runtimeSettings }: Pick<Services, 'runtimeSettings'>): number {
  const { cache_enabled: isOn, cache_default_ttl_seconds: seconds } = runtimeSettings.current(securitySetting);
  return isOn ? seconds * 1000 : 0;
}

async function ask(services: Needed, operation: TranslationOperation, at: number): Promise<Terms> {
  const { database } = services;
  const switchedOff = await database.platform().first(findSwitchedOff({ tenantId: systemTenantId, operation }));
  const lifeMs = memoryLifeMs(services);
  const isUsable = lifeMs > 0 && switchedOff === undefined;
  const terms = { at, isUsable, notBefore: new Date(at - lifeMs).toISOString() };
  known.set(database, (known.get(database) ?? new Map<TranslationOperation, Known>()).set(operation, terms));
  return terms;
}
