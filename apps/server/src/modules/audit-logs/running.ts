import type { ErrorDefinition } from '#core/errors/app-error';

const running = new Set<string>();

/**
 * Takes a place that only one may have at a time in this process.
 * @returns what gives it back, as often as it is called.
 * @throws the error when it is taken.
 */
export function startAlone(place: string, taken: ErrorDefinition): () => void {
  if (running.has(place)) throw taken();
  running.add(place);
  let isHeld = true;
  return () => {
    // Only once: by the second time it may be somebody else's.
    if (isHeld) running.delete(place);
    isHeld = false;
  };
}
