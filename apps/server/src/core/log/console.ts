import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Where printed lines go. */
export type Output = { write(text: string): unknown };

/** What a reader that stands still may cost: later lines are lost. */
const maxWaiting = 32_000_000;

/** Of UTF-8, for each unit of a text. */
const bytesPerUnit = 3;

/** What a pipe takes as one, however many processes write to it: PIPE_BUF of Linux. */
const unmixedBytes = 4096;
const pieceBytes = 65_536;

/** So much is written at once, less a moment later together with what follows. */
const worthWriting = 65_536;
const gatherMs = 200;
/** What is gathered until then, with the lines of one turn of the event loop. */
const usualBytes = worthWriting + 16_384;
/** How long a full pipe is left alone. */
const retryMs = 20;
/** How long a reader has at the end of the process for what still waits. */
const farewellMs = 1000;

const standardOutput = 1;
const standardError = 2;

/**
 * Standard output, written beside the work: whoever reads it slowly, or not at all, holds up nobody, nor the end of the
 * process. Where other processes write to it too, lines go in pieces so small that they are not mixed with theirs, unless
 * one alone is larger.
 */
export function openConsole({ isShared }: { isShared: boolean }): Output {
  const descriptor = openPipe() ?? standardOutput;
  // Looked at, a pipe or a socket is made non-blocking: Node ends only after its threads, one that writes to nobody included.
  process.stdout.on('error', () => undefined);
  const output = new Console(descriptor, isShared ? unmixedBytes : pieceBytes);
  process.on('exit', (code) => {
    output.end();
    if (isShared && descriptor === standardOutput) letGo(code);
  });
  return output;
}

/** Opened anew, a pipe does not block, whatever others who write to it make of theirs; undefined where Linux cannot. */
function openPipe(): number | undefined {
  try {
    const isPipe = fstatSync(standardOutput).isFIFO();
    return isPipe ? openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK) : undefined;
  } catch {
    return undefined;
  }
}

// As it ends, Node puts back what it has found of those that are open, and the processes that go on would block.
function letGo(code: number): void {
  closeSync(standardOutput);
  // Otherwise the reason is still to be told there.
  if (code === 0) closeSync(standardError);
}

class Console implements Output {
  readonly #descriptor: number;
  readonly #mostBytes: number;
  /** What nobody has begun to write; as bytes, which no collection of garbage has to move. */
  #gathered = Buffer.allocUnsafe(usualBytes);
  #gatheredBytes = 0;
  /** What is being written, in pieces. */
  #begun: Buffer = Buffer.alloc(0);
  /** A thread has the first piece of `#begun`. */
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(descriptor: number, mostBytes: number) {
    this.#descriptor = descriptor;
    this.#mostBytes = mostBytes;
  }

  write(text: string): void {
    if (this.#gatheredBytes + this.#begun.length > maxWaiting) return;
    const before = this.#gatheredBytes;
    this.#gather(text);
    if (this.#begun.length > 0) return;
    this.#timer ??= setTimeout(() => this.#begin(), gatherMs).unref();
    if (before < worthWriting && this.#gatheredBytes >= worthWriting) setImmediate(() => this.#begin());
  }

  /** Writes what still waits, as far as it is read within a second. */
  end(): void {
    // How much of a piece that a thread has was written, nobody learns any more.
    const begun = this.#begun.subarray(this.#isWriting ? pieceOf(this.#begun, this.#mostBytes) : 0);
    let rest = Buffer.concat([begun, this.#gathered.subarray(0, this.#gatheredBytes)]);
    const deadline = performance.now() + farewellMs;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#descriptor, rest, 0, pieceOf(rest, this.#mostBytes)));
      } catch (error) {
        if (!isFull(error) || performance.now() > deadline) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    }
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#begun.length > 0) return;
    this.#begun = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#gathered = Buffer.allocUnsafe(usualBytes);
    this.#gatheredBytes = 0;
    this.#writeOn();
  }

  #gather(text: string): void {
    const most = this.#gatheredBytes + bytesPerUnit * text.length;
    if (most > this.#gathered.length) {
      const wider = Buffer.allocUnsafe(2 * most);
      this.#gathered.copy(wider, 0, 0, this.#gatheredBytes);
      this.#gathered = wider;
    }
    this.#gatheredBytes += this.#gathered.write(text, this.#gatheredBytes);
  }

  #writeOn(): void {
    if (this.#begun.length === 0) {
      if (this.#gatheredBytes > 0) this.#begin();
      return;
    }
    this.#isWriting = true;
    write(this.#descriptor, this.#begun, 0, pieceOf(this.#begun, this.#mostBytes), null, (error, written) => {
      this.#isWriting = false;
      if (isFull(error)) {
        setTimeout(() => this.#writeOn(), retryMs).unref();
        return;
      }
      // Nobody reads any more; the same lines are in the database.
      this.#begun = error === null ? this.#begun.subarray(written) : Buffer.alloc(0);
      this.#writeOn();
    });
  }
}

function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return code === 'EAGAIN';
}

const lineFeed = 10;

/** How many bytes to write as one: up to behind the last line that fits, or the first where that alone is larger. */
export function pieceOf(bytes: Buffer, most: number): number {
  if (bytes.length <= most) return bytes.length;
  const last = bytes.lastIndexOf(lineFeed, most - 1);
  return (last === -1 ? bytes.indexOf(lineFeed) : last) + 1 || bytes.length;
}
