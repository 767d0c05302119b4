import sonicBoom from 'sonic-boom';

/** Where printed lines go. */
export type Output = { write(text: string): unknown };

/** What a reader that stands still may cost: later lines are lost. */
const maxWaitingBytes = 32_000_000;

/** What a pipe takes as one, however many processes write to it: PIPE_BUF of Linux. */
const unmixedBytes = 4096;

/**
 * Standard output, written beside the work: whoever reads it slowly, or not at all, holds up nobody. Where other processes
 * write to it too, lines go in pieces so small that they are not mixed with theirs, unless one alone is larger.
 */
export function openConsole({ isShared }: { isShared: boolean }): Output {
  const stream = new sonicBoom.SonicBoom({
    fd: 1,
    sync: false,
    ...(isShared ? { minLength: unmixedBytes / 2, maxWrite: unmixedBytes } : { minLength: 8192 }),
    maxLength: maxWaitingBytes,
    periodicFlush: 200,
  });
  // Nobody reads any more; the same lines are in the database.
  stream.on('error', () => undefined);
  let gathered = '';
  const handOver = () => {
    const text = gathered;
    gathered = '';
    for (const piece of isShared ? piecesOf(text) : [text]) if (piece !== '') stream.write(piece);
  };
  process.on('exit', () => {
    handOver();
    try {
      stream.flushSync();
    } catch {
      // The process ends; there is nobody left to tell.
    }
  });
  return {
    // The stream measures all that waits in it with each text that it is given: one a turn, not one a line.
    write(text) {
      if (gathered === '') setImmediate(handOver);
      gathered += text;
    },
  };
}

/** Cut behind the last line that fits. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const line of text.split(/(?<=\n)/)) {
    if (Buffer.byteLength(piece) + Buffer.byteLength(line) > unmixedBytes) {
      pieces.push(piece);
      piece = '';
    }
    piece += line;
  }
  return [...pieces, piece].filter((one) => one !== '');
}
