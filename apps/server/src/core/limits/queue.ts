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
  const working = createPlaces();
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
        if (working.size() >= maxAtOnce()) return;
        clearTimeout(timer);
        waiting.delete(request);
        working.take(request);
        done();
      }
    } finally {
      isAdmitting = false;
    }
  }

  return {
    configure: (next) => void (limits = next),
    enter(request, done) {
      if (waiting.size === 0 && working.size() < maxAtOnce()) {
        working.take(request);
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
      if (working.leave(request)) {
        if (waiting.size > 0) admit();
        return;
      }
      const waiter = waiting.size === 0 ? undefined : waiting.get(request);
      if (waiter === undefined) return;
      clearTimeout(waiter.timer);
      waiting.delete(request);
    },
    admit,
  };
}

/** Who is worked on: by a mark, as a set would be copied again and again, and each copy keep alive whoever was in it. */
function createPlaces() {
  const place = Symbol('place');
  type Placed = { [place]?: boolean };
  let size = 0;
  return {
    size: () => size,
    take(request: Placed): void {
      if (request[place] !== true) size += 1;
      request[place] = true;
    },
    /** Whether it had a place. */
    leave(request: Placed): boolean {
      if (request[place] !== true) return false;
      request[place] = false;
      size -= 1;
      return true;
    },
  };
}

/** Some variety, so that those refused together do not come back together. */
export function overloaded(): AppError {
  return ServiceUnavailable({ retryAfterSeconds: 1 + Math.round(Math.random() * 3) });
}
