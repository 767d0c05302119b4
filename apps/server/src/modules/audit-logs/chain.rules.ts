import { newSha256 } from '#core/crypto/secrets';

/** A row of the trail as far as its chain is concerned; hashes as hex. */
export type Link = { position: number; hash: string; digest: string; id: string };

/** What of a chain was read so far. */
export type Reached = {
  position: number;
  /** The hashes that the next row may follow; empty where nothing is known, and at the beginning. */
  hashes: readonly string[];
};

export type Problem = {
  /**
   * changed: the row, or the one before it, is not what was written. reordered: what belongs to another place of the chain.
   * missing: `count` rows from here on were deleted. inserted: never written by the service. head: the end of the chain does
   * not agree with its rows.
   */
  type: 'changed' | 'reordered' | 'missing' | 'inserted' | 'head';
  slot: number | null;
  position: number | null;
  count: number;
  id: string | null;
};

export const beginning: Reached = { position: 0, hashes: [] };

/** The hash of a row that follows another; the first row of a chain has its own digest for a hash. */
function linkHash(previous: string, digest: string): string {
  const hash = newSha256();
  hash.update(Buffer.from(previous, 'hex'));
  hash.update(Buffer.from(digest, 'hex'));
  return hash.hex();
}

/** What is wrong with rows of one chain, in the order of their positions, that come after what was reached. */
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
    // Either its content was changed, or its hash, or it was put in between: whichever it was, the next one tells nothing new.
    const recomputed = prior.hashes.map((hash) => linkHash(hash, real.digest));
    reached = { position, hashes: [real.hash, ...recomputed, ...prior.hashes] };
  }
  return { problems, reached };
}

/** All rows up to a position are gone. */
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
  // Behind a gap nothing is known of what it followed.
  return hashes.length === 0 || hashes.some((previous) => linkHash(previous, digest) === hash);
}

/** Whether its content is that of another place nearby. */
function belongsElsewhere({ digest }: Link, links: readonly Link[], { hashes }: Reached): boolean {
  const known = new Set(links.map(({ hash }) => hash));
  if (known.has(digest)) return true;
  return [...hashes, ...known].some((previous) => known.has(linkHash(previous, digest)));
}
