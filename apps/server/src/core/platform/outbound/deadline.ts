/** Runs work that ends with the signal of its caller, and after this many milliseconds at the latest. */
export async function withDeadline<Result>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  outer?.throwIfAborted();
  const inner = new AbortController();
  const cancel = () => inner.abort(outer!.reason);
  const timer = setTimeout(() => inner.abort(new DOMException('it took too long', 'TimeoutError')), timeoutMs);
  outer?.addEventListener('abort', cancel, { once: true });
  try {
    return await work(inner.signal);
  } finally {
    // Neither the timer nor the listener may outlive the work: there are many of them.
    clearTimeout(timer);
    outer?.removeEventListener('abort', cancel);
  }
}

/** Whether something ended because its time was over. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
