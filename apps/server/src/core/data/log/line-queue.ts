import { LineBatch, type WaitingLine } from '#core/data/log/line-batch';

type Limits = { lines: number; characters: number };

const defaultLimits: Limits = { lines: 20_000, characters: 32_000_000 };

/** Lines that wait for the database, in batches: when there are too many, the least important are given up first. */
export class LineQueue {
  readonly #limits: Limits;
  readonly #byLevel = new Map<number, LineBatch[]>();
  #size = 0;
  #characters = 0;
  #dropped = 0;
  #allDropped = 0;
  #lastDropAt: number | undefined;
  #spare: LineBatch | undefined;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** @param batchSize how many lines are taken out together at most */
  add(waiting: WaitingLine, batchSize: number): void {
    this.#openBatch(waiting, batchSize).add(waiting);
    this.#size += 1;
    this.#characters += waiting.size;
    while (this.#size > this.#limits.lines || this.#characters > this.#limits.characters) this.#dropOne();
  }

  /** Takes a batch out, the most important first; undefined when none waits. */
  take(): LineBatch | undefined {
    if (this.#size === 0) return undefined;
    const level = Math.max(...this.#byLevel.keys());
    const batches = this.#byLevel.get(level)!;
    const batch = batches.shift()!;
    if (batches.length === 0) this.#byLevel.delete(level);
    this.#size -= batch.length;
    this.#characters -= batch.size;
    return batch;
  }

  /** What was taken out is not needed any more: its memory serves the next lines. */
  giveBack(batch: LineBatch): void {
    batch.clear();
    this.#spare = batch;
  }

  /** Number of dropped lines since the previous call. */
  takeDropped(): number {
    const count = this.#dropped;
    this.#dropped = 0;
    return count;
  }

  /** All lines given up so far, and when the last one was, in milliseconds. */
  drops(): { count: number; lastAt: number | undefined } {
    return { count: this.#allDropped, lastAt: this.#lastDropAt };
  }

  /** The last batch of a level, as long as it has room. */
  #openBatch({ level }: WaitingLine, batchSize: number): LineBatch {
    const batches = this.#byLevel.get(level);
    const last = batches?.at(-1);
    if (last?.hasRoom(batchSize)) return last;
    const batch = this.#spare?.level === level ? this.#spare : new LineBatch(level);
    if (batch === this.#spare) this.#spare = undefined;
    if (batches === undefined) this.#byLevel.set(level, [batch]);
    else batches.push(batch);
    return batch;
  }

  /** The newest of the least important lines: the first lines of a failure say more than later ones. */
  #dropOne(): void {
    const level = Math.min(...this.#byLevel.keys());
    const batches = this.#byLevel.get(level)!;
    const batch = batches.at(-1)!;
    this.#characters -= batch.pop();
    this.#size -= 1;
    if (batch.length === 0) batches.pop();
    if (batches.length === 0) this.#byLevel.delete(level);
    this.#dropped += 1;
    this.#allDropped += 1;
    this.#lastDropAt = Date.now();
  }
}
