import { LRUCache } from 'lru-cache';

import { systemTenantId } from '#core/base/access/principal';
import { perDatabase } from '#core/data/db/per-database';
import { securitySetting } from '#core/platform/limits/config';
import type { Services } from '#core/platform/services';
import { findSwitchedOff, listMakers, type Maker, type Remembered } from '#modules/translation/memory/memory.queries';
import type { TranslationOperation } from '#modules/translation/scope';

/** Rules for the use of the memory by a tenant. */
export type Terms = {
  isUsable: boolean;
  notBefore: string;
  /** Excludes entries before `notBefore`, and those of a deleted, disabled or changed connector. */
  counts(made: Pick<Remembered, 'provider' | 'created_at'>): boolean;
};

type Dependencies = Pick<Services, 'database' | 'now' | 'runtimeSettings'>;
type Known = Terms & { at: number };

/** Cache time: a look-up for each text would cost as much as the text itself. */
const freshMs = 1000;
const maxKnown = 1000;

/** Retention of translations, which are expensive to repeat. */
const keptMs = 30 * 24 * 60 * 60_000;

const known = perDatabase(() => new LRUCache<string, Known>({ max: maxKnown }));

type Whose = { tenantId: string; operation: TranslationOperation };

/**
 * Whether caches and the operation are enabled, for the installation and the tenant, and the times of connector changes; at most
 * one second old.
 */
export function termsOf(services: Dependencies, whose: Whose): Terms | Promise<Terms> {
  const terms = known(services.database).get(keyOf(whose));
  const at = services.now().getTime();
  return terms !== undefined && Math.abs(at - terms.at) < freshMs ? terms : ask(services, whose, at);
}

/** Retention of translations; 0 if caches are disabled. */
export function memoryLifeMs({ runtimeSettings }: Pick<Services, 'runtimeSettings'>): number {
  return runtimeSettings.current(securitySetting).cache_enabled ? keptMs : 0;
}

async function ask(services: Dependencies, whose: Whose, at: number): Promise<Terms> {
  const { database } = services;
  const { tenantId, operation } = whose;
  const [own, rule] = await Promise.all([
    database.tenant(tenantId).batch(readings({ tenantId, operation })),
    database.platform().batch(readings({ tenantId: systemTenantId, operation })),
  ]);
  const makers = [changesOf(own[1]), changesOf(rule[1])];
  const lifeMs = memoryLifeMs(services);
  const notBefore = at - lifeMs;
  const terms: Known = {
    at,
    isUsable: lifeMs > 0 && own[0].length === 0 && rule[0].length === 0,
    notBefore: new Date(notBefore).toISOString(),
    counts: ({ provider, created_at: createdAt }) => {
      const madeAt = Date.parse(createdAt);
      return madeAt > notBefore && makers.some((changes) => (changes.get(provider) ?? Infinity) <= madeAt);
    },
  };
  known(database).set(keyOf(whose), terms);
  return terms;
}

function readings(of: Whose) {
  return [findSwitchedOff(of), listMakers(of)] as const;
}

function changesOf(makers: readonly Maker[]): ReadonlyMap<string, number> {
  return new Map(makers.map(({ api_key: key, updated_at: changedAt }) => [key, Date.parse(changedAt)]));
}

function keyOf({ tenantId, operation }: Whose): string {
  return `${tenantId} ${operation}`;
}
