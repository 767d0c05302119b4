/**
 * A line that waits to be stored. `at`: when it was said, in milliseconds; `level` as pino numbers them; `context` is JSON;
 * `size`: about how many characters it has.
 */
export type WaitingLine = {
  at: number;
  id: string;
  level: number;
  service: string;
  message: string;
  tenantId: string | null;
  userId: string | null;
  requestId: string | null;
  context: string;
  size: number;
};

type Limits = { lines: number; characters: number };

/** Lines that wait for the database: when there are too many, the least important are given up first. */
export type LineQueue = {
  add(waiting: WaitingLine): void;
  /** Takes up to so many lines out, the most important first. */
  take(count: number): WaitingLine[];
  size(): number;
  /** How many lines were given up since this was last asked. */
  takeDropped(): number;
  /** All lines given up so far, and when the last one was, in milliseconds. */
  drops(): { count: number; lastAt: number | undefined };
};

export function createLineQueue(limits: Limits = { lines: 20_000, characters: 32_000_000 }): LineQueue {
  const byLevel = new Map<number, WaitingLine[]>();
  let [size, characters, dropped, allDropped] = [0, 0, 0, 0];
  let lastDropAt: number | undefined;
  const levels = () => [...byLevel.keys()].toSorted((a, b) => a - b);
  const isFull = () => size > limits.lines || characters > limits.characters;

  function remove(level: number, lines: readonly WaitingLine[]): void {
    size -= lines.length;
    for (const line of lines) characters -= line.size;
    if (byLevel.get(level)?.length === 0) byLevel.delete(level);
  }

  /** Of the least important lines the newest: how trouble began is worth more than how it went on. */
  function dropOne(): void {
    const [level] = levels();
    const line = byLevel.get(level!)!.pop()!;
    remove(level!, [line]);
    dropped += 1;
    allDropped += 1;
    lastDropAt = Date.now();
  }

  return {
    add(waiting) {
      const { level } = waiting;
      const lines = byLevel.get(level);
      if (lines === undefined) byLevel.set(level, [waiting]);
      else lines.push(waiting);
      size += 1;
      characters += waiting.size;
      while (isFull()) dropOne();
    },
    take(count) {
      const batch: WaitingLine[] = [];
      for (const level of levels().toReversed()) {
        const lines = byLevel.get(level)!.splice(0, count - batch.length);
        remove(level, lines);
        batch.push(...lines);
        if (batch.length >= count) break;
      }
      return batch;
    },
    size: () => size,
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
    drops: () => ({ count: allDropped, lastAt: lastDropAt }),
  };
}
