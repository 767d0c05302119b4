import { systemTenantId } from '#core/access/principal';
import { securitySetting } from '#core/limits/config';
import type { Services } from '#core/services';
import { findSwitchedOff, listMakers } from '#modules/translation/memory/memory.queries';
import type { TranslationOperation } from '#modules/translation/scope';

/**
 * What of memory may be used: nothing that is older than `notBefore`. `makers`: when which connector of the installation was
 * changed, by api_key; those that are enabled.
 */
export type Terms = { isUsable: boolean; notBefore: string; makers: ReadonlyMap<string, string> };

type Needed = Pick<Services, 'database' | 'now' | 'runtimeSettings'>;
type Known = Terms & { at: number };

/** So long an answer counts: to ask for each text that is remembered would cost as much as the text. */
const freshMs = 1000;

/** Whoever paid for a translation does not want to pay for it again tomorrow. */
const keptMs = 30 * 24 * 60 * 60_000;

const known = new WeakMap<Services['database'], Map<TranslationOperation, Known>>();

/** Whether caches are on, and the installation lets anybody use the operation; as it was at most a second ago. */
export function termsOf(services: Needed, operation: TranslationOperation): Terms | Promise<Terms> {
  const terms = known.get(services.database)?.get(operation);
  const at = services.now().getTime();
  return terms !== undefined && Math.abs(at - terms.at) < freshMs ? terms : ask(services, operation, at);
}

/** For how long translations are remembered; not at all where caches are switched off. */
export function memoryLifeMs({ runtimeSettings }: Pick<Services, 'runtimeSettings'>): number {
  return runtimeSettings.current(securitySetting).cache_enabled ? keptMs : 0;
}

async function ask(services: Needed, operation: TranslationOperation, at: number): Promise<Terms> {
  const { database } = services;
  const [switchedOff, rows] = await database
    .platform()
    .flight([findSwitchedOff({ tenantId: systemTenantId, operation }), listMakers({ tenantId: systemTenantId })]);
  const makers = new Map(rows.map(({ api_key: key, updated_at: changedAt }) => [key, changedAt]));
  const lifeMs = memoryLifeMs(services);
  const isUsable = lifeMs > 0 && switchedOff.length === 0;
  const terms = { at, isUsable, notBefore: new Date(at - lifeMs).toISOString(), makers };
  known.set(database, (known.get(database) ?? new Map<TranslationOperation, Known>()).set(operation, terms));
  return terms;
}
