import { LineBlock, type WaitingLine } from '#core/log/line-block';

type Limits = { lines: number; characters: number };

const defaultLimits: Limits = { lines: 20_000, characters: 32_000_000 };

/** Lines that wait for the database, in batches: when there are too many, the least important are given up first. */
export class LineQueue {
  readonly #limits: Limits;
  readonly #byLevel = new Map<number, LineBlock[]>();
  #size = 0;
  #characters = 0;
  #dropped = 0;
  #allDropped = 0;
  #lastDropAt: number | undefined;
  #spare: LineBlock | undefined;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** @param batchSize how many lines are taken out together at most */
  add(waiting: WaitingLine, batchSize: number): void {
    this.#openBlock(waiting, batchSize).add(waiting);
    this.#size += 1;
    this.#characters += waiting.size;
    while (this.#size > this.#limits.lines || this.#characters > this.#limits.characters) this.#dropOne();
  }

  /** Takes a batch out, the most important first; undefined when none waits. */
  take(): LineBlock | undefined {
    if (this.#size === 0) return undefined;
    const level = Math.max(...this.#byLevel.keys());
    const blocks = this.#byLevel.get(level)!;
    const block = blocks.shift()!;
    if (blocks.length === 0) this.#byLevel.delete(level);
    this.#size -= block.length;
    this.#characters -= block.size;
    return block;
  }

  /** What was taken out is not needed any more: its memory serves the next lines. */
  giveBack(block: LineBlock): void {
    block.clear();
    this.#spare = block;
  }

  /** How many lines were given up since this was last asked. */
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
  #openBlock({ level, at }: WaitingLine, batchSize: number): LineBlock {
    const blocks = this.#byLevel.get(level);
    const last = blocks?.at(-1);
    if (last?.takes(at, batchSize)) return last;
    const block = this.#spare?.level === level ? this.#spare : new LineBlock(level);
    if (block === this.#spare) this.#spare = undefined;
    if (blocks === undefined) this.#byLevel.set(level, [block]);
    else blocks.push(block);
    return block;
  }

  /** Of the least important lines the newest: how trouble began is worth more than how it went on. */
  #dropOne(): void {
    const level = Math.min(...this.#byLevel.keys());
    const blocks = this.#byLevel.get(level)!;
    const block = blocks.at(-1)!;
    this.#characters -= block.pop();
    this.#size -= 1;
    if (block.length === 0) blocks.pop();
    if (blocks.length === 0) this.#byLevel.delete(level);
    this.#dropped += 1;
    this.#allDropped += 1;
    this.#lastDropAt = Date.now();
  }
}
