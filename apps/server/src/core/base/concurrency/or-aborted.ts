/**
 * Settles with the work, or at the abort for work that ignores its signal; such work goes on alone.
 * @param defer delays the abort, so that work which observes the signal can report a more precise error
 * @throws the reason of the signal, or the error of the work
 */
export async function orAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  defer: (abort: () => void) => unknown = (abort) => abort(),
): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => void defer(() => aborted.reject(signal.reason as Error));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    // Both promises are handled: an unhandled rejection of the work would end the process.
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
