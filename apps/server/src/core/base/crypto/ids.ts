import { randomFillSync, randomUUID } from 'node:crypto';

const pool = Buffer.alloc(4096);
let poolOffset = pool.length;

const hex = Buffer.from('0123456789abcdef');
/** Where the digits of the next id are put together: one text at once, not one of many pieces. */
const digits = Buffer.from('00000000-0000-7000-8000-000000000000');

/**
 * A UUIDv7 (RFC 9562 section 5.7): 48 bits of Unix milliseconds, a 12-bit counter that keeps the
 * ids of one process ordered within a millisecond, and 62 random bits.
 */
export const newId = createIdSource();

/** Ids in an order of their own. */
export function createIdSource(): (now?: number) => string {
  let lastMillis = 0;
  let sequence = 0;
  return function nextId(now = Date.now()) {
    if (now > lastMillis) {
      lastMillis = now;
      sequence = 0;
    } else if (++sequence > 0xfff) {
      lastMillis += 1;
      sequence = 0;
    }
    return render(lastMillis, sequence);
  };
}

function render(millis: number, sequence: number): string {
  if (poolOffset + 8 > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const high = Math.floor(millis / 0x1_0000_0000);
  const low = millis >>> 0;
  put(0, high >>> 8);
  put(2, high);
  put(4, low >>> 24);
  put(6, low >>> 16);
  put(9, low >>> 8);
  put(11, low);
  put(14, 0x70 | (sequence >>> 8));
  put(16, sequence);
  put(19, 0x80 | (pool[poolOffset]! & 0x3f));
  put(21, pool[poolOffset + 1]!);
  for (let at = 0; at < 6; at++) put(24 + 2 * at, pool[poolOffset + 2 + at]!);
  poolOffset += 8;
  return digits.toString('latin1');
}

function put(at: number, byte: number): void {
  digits[at] = hex[(byte >>> 4) & 0xf]!;
  digits[at + 1] = hex[byte & 0xf]!;
}

/** A UUIDv4 (RFC 9562 section 5.4): says nothing about when it was made. */
export function newRandomId(): string {
  return randomUUID();
}
