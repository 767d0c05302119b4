import { newSha256 } from '#core/base/crypto/secrets';

/** The chain columns of an audit event; hashes as hex. */
export type Link = { position: number; hash: string; digest: string; id: string };

/** State of a chain after the rows that were read. */
export type Reached = {
  position: number;
  /** Hashes that the next row may follow; empty if unknown, and at the beginning. */
  hashes: readonly string[];
};

export type Problem = {
  /**
   * changed: the row, or the previous row, was modified. reordered: the row belongs to another position of the chain.
   * missing: `count` rows were deleted, beginning here. inserted: not written by the service. head: the end of the chain does not
   * match its rows.
   */
  type: 'changed' | 'reordered' | 'missing' | 'inserted' | 'head';
  slot: number | null;
  position: number | null;
  count: number;
  id: string | null;
};

export const beginning: Reached = { position: 0, hashes: [] };

/** The hash of a row after another one; the hash of the first row is its digest. */
function linkHash(previous: string, digest: string): string {
  const hash = newSha256();
  hash.update(Buffer.from(previous, 'hex'));
  hash.update(Buffer.from(digest, 'hex'));
  return hash.hex();
}

/** Problems of the rows of one chain after the reached position, in order of position. */
export function inspectLinks(
  slot: number,
  links: readonly Link[],
  before: Reached,
): { problems: Problem[]; reached: Reached } {
  const problems: Problem[] = [];
  let reached = before;
  for (const group of byPosition(links)) {
    const { position } = group[0]!;
    const isGap = position > reached.position + 1;
    if (isGap) problems.push(missingBetween(slot, reached.position, position));
    const prior: Reached = isGap ? { position: position - 1, hashes: [] } : reached;
    const real = group.find((link) => follows(link, prior)) ?? group[0]!;
    for (const { id } of group.filter((link) => link !== real)) {
      problems.push({ type: 'inserted', slot, position, count: 1, id });
    }
    if (follows(real, prior)) {
      reached = { position, hashes: [real.hash] };
      continue;
    }
    const type = belongsElsewhere(real, links, before) ? 'reordered' : 'changed';
    problems.push({ type, slot, position, count: 1, id: real.id });
    // The content or the hash was changed, or the row was inserted; in all cases the next row gives no new information.
    const recomputed = prior.hashes.map((hash) => linkHash(hash, real.digest));
    reached = { position, hashes: [real.hash, ...recomputed, ...prior.hashes] };
  }
  return { problems, reached };
}

/** All rows up to a position are missing. */
export function missingBetween(slot: number, last: number, next: number): Problem {
  return { type: 'missing', slot, position: last + 1, count: next - last - 1, id: null };
}

function* byPosition(links: readonly Link[]): Iterable<Link[]> {
  let group: Link[] = [];
  for (const link of links) {
    if (group.length > 0 && group[0]!.position !== link.position) {
      yield group;
      group = [];
    }
    group.push(link);
  }
  if (group.length > 0) yield group;
}

function follows({ position, hash, digest }: Link, { position: last, hashes }: Reached): boolean {
  if (position === 1 && last === 0) return hash === digest;
  // After a gap the previous hash is unknown.
  return hashes.length === 0 || hashes.some((previous) => linkHash(previous, digest) === hash);
}

/** Whether the content belongs to another position nearby. */
function belongsElsewhere({ digest }: Link, links: readonly Link[], { hashes }: Reached): boolean {
  const known = new Set(links.map(({ hash }) => hash));
  if (known.has(digest)) return true;
  return [...hashes, ...known].some((previous) => known.has(linkHash(previous, digest)));
}
