import { unusable } from '#modules/connectors/calls/failures';

/** @throws ProviderFailure */
export function parseJson(answer: string): unknown {
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    // The message of the parser quotes the content.
    throw unusable('the answer is not JSON');
  }
}

/** A property of an unknown value. */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** @throws ProviderFailure unless the number of texts is exact */
export function textsOf(value: unknown, count: number): string[] {
  if (!Array.isArray(value)) throw unusable('the answer holds no list of texts');
  if (value.length !== count) throw unusable('the answer holds more or fewer texts than were sent');
  if (!value.every((text) => typeof text === 'string'))
    throw unusable('the answer contains a value that is not a string');
  return value;
}
