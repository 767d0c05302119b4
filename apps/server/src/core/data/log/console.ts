import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import sonicBoom from 'sonic-boom';

declare module 'sonic-boom' {
  interface SonicBoom {
    /** In the buffer mode, which its types leave out. */
    write(bytes: Buffer): boolean;
  }
}

/** Where printed lines go. */
export type Output = { write(text: string): unknown };

/** Bytes that may wait for a slow reader; later lines are lost. */
const maxWaitingBytes = 32_000_000;
/** Bytes that a pipe takes as one (PIPE_BUF of Linux). */
const atomicBytes = 4096;
const batchBytes = 65_536;
/** Lines that do not fill a write are written after this time. */
const flushMs = 200;
/** Time that the reader has at the end of the process for the lines that wait. */
const exitTimeoutMs = 1000;

const standardOutput = 1;
const standardError = 2;

/**
 * Standard output, written without blocking: a slow or stopped reader delays neither a request nor the end of the process. Where
 * processes share the output, each write is small enough that the kernel does not mix them, unless one line is larger.
 */
export function openConsole({ isShared }: { isShared: boolean }): Output {
  const descriptor = openPipe() ?? standardOutput;
  // Node makes a pipe or a socket non-blocking when `process.stdout` is read; it ends only after a blocked write has ended.
  process.stdout.on('error', () => undefined);
  let isReaderGone = false;
  let exitDeadline = Infinity;
  const maxWrite = isShared ? atomicBytes : batchBytes;
  // The text mode measures what is gathered with every line, which costs four times as much.
  const stream = new sonicBoom.SonicBoom({
    fd: descriptor,
    maxLength: maxWaitingBytes,
    maxWrite,
    minLength: maxWrite - 1,
    contentMode: 'buffer',
    retryEAGAIN: () => performance.now() < exitDeadline,
  });
  // The lines are in the database too.
  stream.on('error', () => (isReaderGone = true));
  process.on('exit', (code) => {
    exitDeadline = performance.now() + exitTimeoutMs;
    if (!isReaderGone) flushAtExit(stream);
    if (isShared && descriptor === standardOutput) releaseOutput(code);
  });
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (!isReaderGone) stream.flush();
  };
  return {
    write(text) {
      if (isReaderGone) return;
      stream.write(Buffer.from(text));
      timer ??= setTimeout(flush, flushMs).unref();
    },
  };
}

/** A pipe opened again does not block even if its other writers do; undefined where Linux cannot. */
function openPipe(): number | undefined {
  try {
    const isPipe = fstatSync(standardOutput).isFIFO();
    return isPipe ? openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK) : undefined;
  } catch {
    return undefined;
  }
}

function flushAtExit(stream: sonicBoom.SonicBoom): void {
  try {
    stream.flushSync();
  } catch {
    // The reader is gone or too slow.
  }
}

// When Node ends, it resets the flags of open descriptors, and the processes that share the output would block.
function releaseOutput(code: number): void {
  closeSync(standardOutput);
  // After a failure, the reason is still to be printed there.
  if (code === 0) closeSync(standardError);
}
