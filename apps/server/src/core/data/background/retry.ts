/** Work that failed, to be done again after a while. */
export type Retry = {
  /** Once, however often it is asked for meanwhile; false when it is too late for that. */
  later(): boolean;
  close(): void;
};

export function createRetry(work: () => unknown, delayMs: number): Retry {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  return {
    later() {
      clearTimeout(timer);
      if (!isClosed) timer = setTimeout(work, delayMs).unref();
      return !isClosed;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
