import { sha256 } from '#core/crypto/secrets';

/** What somebody asks for: languages by codes that exist, ids in order and each once. */
export type Asked = {
  entityType: 'space' | 'resource' | 'tag' | 'category';
  /** Undefined: all. */
  entityIds: readonly string[] | undefined;
  source: string | undefined;
  /** Undefined fills what is missing. */
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
  const wanted = new Set(targets ?? tenant.languages);
  wanted.delete(tenant.base);
  if (source !== undefined) wanted.delete(source);
  return [...wanted];
}

/** How many records are translated into one language at a time. */
export const batchSize = 50;

/** How many of them a request waits for at most. */
const mostWithinRequest = 200;

/** How many batches a request does itself. */
export function batchesWithinRequest(entitiesTotal: number): number {
  return entitiesTotal <= mostWithinRequest ? Number.POSITIVE_INFINITY : mostWithinRequest / batchSize;
}
