/**
 * Runs one at a time. Callers who ask while one runs share the next run, which sees everything that happened before it began.
 * @returns resolves, or rejects, with the run that began after the call
 */
export function coalesce(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () =>
    (next ??= running = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return run();
      }));
}
