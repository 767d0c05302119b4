import type { AppError } from '#core/errors/app-error';
import { ServiceUnavailable } from '#core/errors/common-errors';

type Done = (refusal?: AppError) => void;
type Waiter = { done: Done; timer: NodeJS.Timeout };
export type QueueLimits = { enabled: boolean; maxSize: number; timeoutMs: number };

/** Lets so many requests be worked on at once; the others wait in the order of their arrival, for so long. */
export type RequestQueue = {
  configure(limits: QueueLimits): void;
  /** Calls back at once when there is room, otherwise when there is, or with a refusal. */
  enter(request: object, done: Done): void;
  /** The request is over, or was given up while it waited; others may have its place. */
  leave(request: object): void;
  /** There may be more room than before. */
  admit(): void;
};

export function createRequestQueue(maxAtOnce: () => number, initial: QueueLimits): RequestQueue {
  const working = new Set<object>();
  // In the order of arrival, as maps are.
  const waiting = new Map<object, Waiter>();
  let limits = initial;
  let isAdmitting = false;

  // Who leaves while others are let in makes room for this very loop, however many do: no recursion.
  function admit(): void {
    if (isAdmitting) return;
    isAdmitting = true;
    try {
      for (const [request, { done, timer }] of waiting) {
        if (working.size >= maxAtOnce()) return;
        clearTimeout(timer);
        waiting.delete(request);
        working.add(request);
        done();
      }
    } finally {
      isAdmitting = false;
    }
  }

  return {
    configure: (next) => void (limits = next),
    enter(request, done) {
      if (waiting.size === 0 && working.size < maxAtOnce()) {
        working.add(request);
        done();
        return;
      }
      if (!limits.enabled || waiting.size >= limits.maxSize) {
        done(overloaded());
        return;
      }
      const timer = setTimeout(() => {
        waiting.delete(request);
        done(overloaded());
      }, limits.timeoutMs);
      waiting.set(request, { done, timer });
    },
    leave(request) {
      const waiter = waiting.get(request);
      if (waiter !== undefined) {
        clearTimeout(waiter.timer);
        waiting.delete(request);
      } else if (working.delete(request) && waiting.size > 0) admit();
    },
    admit,
  };
}

/** Some variety, so that those refused together do not come back together. */
export function overloaded(): AppError {
  return ServiceUnavailable({ retryAfterSeconds: 1 + Math.round(Math.random() * 3) });
}
