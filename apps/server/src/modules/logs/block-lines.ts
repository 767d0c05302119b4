import type { Statements } from '#core/db/scopes';
import { listBlocks, listLinesOf, type BlockFacts, type BlockSelection } from '#modules/logs/blocks.queries';
import type { LogRow } from '#modules/logs/logs.tables';

/** What one statement reads at most, unless one block has more. */
const limits = { lines: 1000, bytes: 2 * 1024 ** 2 };
const listedBlocks = 1000;
/** More lines, converted to text at once, would block the event loop for too long. */
const linesAtOnce = 500;

type Reading = {
  signal: AbortSignal;
  /** The pause after each step, which began at this time (`performance.now`). */
  pause(startedAt: number): Promise<void>;
  /** Called for each block that was read. */
  onBlock?(block: BlockFacts): void;
};

/**
 * All matching lines in order of time, some at once. Each block is read once, and no connection is held between two statements.
 * Blocks are read in order of their first line; a line waits until no later block can have an earlier line.
 */
export async function* linesInOrder(
  db: Statements,
  selection: BlockSelection,
  { signal, pause, onBlock = () => undefined }: Reading,
): AsyncGenerator<LogRow[]> {
  let waiting: LogRow[] = [];
  let after: BlockFacts | undefined;
  for (let isEnd = false; !isEnd;) {
    const listed = await db.all(listBlocks(selection, { after, limit: listedBlocks }));
    isEnd = listed.length < listedBlocks;
    for (const group of groupsOf(listed)) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const rows = await db.all(listLinesOf(group, selection.filters));
      group.forEach(onBlock);
      after = group.at(-1)!;
      waiting = [...waiting, ...rows].toSorted(byTime);
      const settled = waiting.findIndex(({ logged_at: at }) => at >= after!.first_at);
      yield* inParts(waiting.splice(0, settled === -1 ? waiting.length : settled));
      await pause(startedAt);
    }
  }
  yield* inParts(waiting);
}

/** Blocks that are read together. */
function groupsOf(blocks: readonly BlockFacts[]): BlockFacts[][] {
  const groups: BlockFacts[][] = [];
  let sum = { lines: 0, bytes: 0 };
  for (const block of blocks) {
    sum = { lines: sum.lines + block.lines, bytes: sum.bytes + block.bytes };
    if (groups.length > 0 && sum.lines <= limits.lines && sum.bytes <= limits.bytes) groups.at(-1)!.push(block);
    else {
      groups.push([block]);
      sum = { lines: block.lines, bytes: block.bytes };
    }
  }
  return groups;
}

function* inParts(rows: readonly LogRow[]): Generator<LogRow[]> {
  for (let at = 0; at < rows.length; at += linesAtOnce) yield rows.slice(at, at + linesAtOnce);
}

function byTime(left: LogRow, right: LogRow): number {
  if (left.logged_at !== right.logged_at) return left.logged_at < right.logged_at ? -1 : 1;
  return left.id < right.id ? -1 : Number(left.id > right.id);
}
