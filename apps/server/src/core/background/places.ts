import type { AppError } from '#core/errors/app-error';

const taken = new Map<string, number>();

type Place = { name: string; most: number; refusal: () => AppError };

/**
 * Takes one of a few places for work that is too much to be done by many at a time in this process.
 * @returns what gives it back, as often as it is called.
 * @throws the refusal when all are taken.
 */
export function takePlace(name: string, most: number, refusal: () => AppError): () => void {
  const before = taken.get(name) ?? 0;
  if (before >= most) throw refusal();
  taken.set(name, before + 1);
  let isHeld = true;
  return () => {
    // Only once: by the second time it may be somebody else's.
    if (!isHeld) return;
    isHeld = false;
    const left = taken.get(name)! - 1;
    if (left === 0) taken.delete(name);
    else taken.set(name, left);
  };
}

/** A place of each of several kinds, or of none of them. */
export function takePlaces(...wanted: readonly Place[]): () => void {
  const releases: (() => void)[] = [];
  const release = () => releases.forEach((one) => one());
  try {
    for (const { name, most, refusal } of wanted) releases.push(takePlace(name, most, refusal));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}
