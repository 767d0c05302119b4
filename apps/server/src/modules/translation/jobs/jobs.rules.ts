import { sha256 } from '#core/base/crypto/secrets';
import { isLanguage } from '#modules/translation/languages/languages.rules';
import type { EntityType } from '#modules/translation/translation.types';

/** A validated request: known language codes, sorted ids without duplicates. */
export type Asked = {
  entityType: EntityType;
  /** Undefined: all. */
  entityIds: readonly string[] | undefined;
  source: string | undefined;
  /** Undefined: only missing texts are filled. */
  targets: readonly string[] | undefined;
  protectHuman: boolean;
};

/** The same for those who ask for the same, as PostgreSQL writes bytes. */
export function fingerprintOf({ entityType, entityIds, source, targets, protectHuman }: Asked): string {
  const facts = [entityType, entityIds ?? null, source ?? null, targets ?? null, protectHuman];
  return `\\x${sha256(JSON.stringify(facts)).toString('hex')}`;
}

/** Into which languages, in this order; never into that of the tenant. */
export function languagesOf(
  { source, targets }: Asked,
  tenant: { base: string; languages: readonly string[] },
): string[] {
  const wanted = new Set(targets ?? tenant.languages.filter(isLanguage));
  wanted.delete(tenant.base);
  if (source !== undefined) wanted.delete(source);
  return [...wanted];
}

/** How many records are translated into one language at a time. */
export const batchSize = 50;

/** How many of them a request waits for at most. */
const maxWithinRequest = 200;

/** How many batches a request does itself. */
export function batchesWithinRequest(entitiesTotal: number): number {
  return entitiesTotal <= maxWithinRequest ? Number.POSITIVE_INFINITY : maxWithinRequest / batchSize;
}

/** Two parts of what is more than one. */
export function halvesOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [];
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

const minuteMs = 60_000;
const minPauseMs = 30_000;
const maxPauseMs = 10 * minuteMs;
const maxTroubleMs = 60 * minuteMs;
const daySeconds = 24 * 3600;

/** Backoff while all providers fail: as long as the failure lasts so far. Undefined after the maximum. */
export function pauseOfTrouble(failingForMs: number): number | undefined {
  if (failingForMs >= maxTroubleMs) return undefined;
  return Math.min(Math.max(failingForMs, minPauseMs), maxPauseMs);
}

/** Pause until a quota resets; undefined if the reset is too late. */
export function pauseUntilReset(seconds: number): number | undefined {
  return seconds < daySeconds ? seconds * 1000 : undefined;
}
