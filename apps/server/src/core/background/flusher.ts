/** Something that is written in batches, beside the requests that cause it. */
export type Flusher = {
  /** Says that something waits to be written. */
  wake(): void;
  /** Writes what still waits, then stops. */
  close(): Promise<void>;
};

type Options = {
  /** How long things gather at most before they are written. */
  delayMs: number;
  /** Writes all that waits; what could not be written has to wait on. */
  write(): Promise<void>;
  onError(error: unknown): void;
  /** How long to wait after a failure. */
  retryMs?: number;
};

/** Runs `write` soon after something waits, one run at a time, and once more at the end. */
export function createFlusher({ delayMs, write, onError, retryMs = 5000 }: Options): Flusher {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const run = () => {
    timer = undefined;
    running = running.then(write).catch((error: unknown) => {
      onError(error);
      timer ??= setTimeout(run, retryMs).unref();
    });
  };

  return {
    wake() {
      timer ??= setTimeout(run, delayMs).unref();
    },
    async close() {
      clearTimeout(timer);
      run();
      await running;
      clearTimeout(timer);
    },
  };
}
