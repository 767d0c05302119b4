/** A line that waits to be stored, as JSON. */
export type WaitingLine = { level: number; line: string };

type Limits = { lines: number; characters: number };

/** Lines that wait for the database: when there are too many, the least important are given up first. */
export type LineQueue = {
  add(waiting: WaitingLine): void;
  /** Takes up to so many lines out, the most important first. */
  take(count: number): WaitingLine[];
  /** Puts back what could not be written. */
  giveBack(batch: readonly WaitingLine[]): void;
  size(): number;
  /** How many lines were given up since this was last asked. */
  takeDropped(): number;
};

export function createLineQueue(limits: Limits = { lines: 20_000, characters: 32_000_000 }): LineQueue {
  const byLevel = new Map<number, string[]>();
  let [size, characters, dropped] = [0, 0, 0];
  const levels = () => [...byLevel.keys()].toSorted((a, b) => a - b);
  const isFull = () => size > limits.lines || characters > limits.characters;

  function put({ level, line }: WaitingLine): void {
    const lines = byLevel.get(level);
    if (lines === undefined) byLevel.set(level, [line]);
    else lines.push(line);
    size += 1;
    characters += line.length;
  }

  function remove(level: number, lines: readonly string[]): void {
    size -= lines.length;
    for (const line of lines) characters -= line.length;
    if (byLevel.get(level)?.length === 0) byLevel.delete(level);
  }

  /** Of the least important lines the newest: how trouble began is worth more than how it went on. */
  function dropOne(): void {
    const [level] = levels();
    const line = byLevel.get(level!)!.pop()!;
    remove(level!, [line]);
    dropped += 1;
  }

  return {
    add(waiting) {
      put(waiting);
      while (isFull()) dropOne();
    },
    take(count) {
      const batch: WaitingLine[] = [];
      for (const level of levels().toReversed()) {
        const lines = byLevel.get(level)!.splice(0, count - batch.length);
        remove(level, lines);
        batch.push(...lines.map((line) => ({ level, line })));
        if (batch.length >= count) break;
      }
      return batch;
    },
    giveBack(batch) {
      for (const level of new Set(batch.map((waiting) => waiting.level))) {
        const lines = batch.filter((waiting) => waiting.level === level).map(({ line }) => line);
        byLevel.set(level, [...lines, ...(byLevel.get(level) ?? [])]);
      }
      size += batch.length;
      for (const { line } of batch) characters += line.length;
      while (isFull()) dropOne();
    },
    size: () => size,
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
  };
}
