import { randomFillSync, randomUUID } from 'node:crypto';

const pool = Buffer.alloc(4096);
let poolOffset = pool.length;
let lastMillis = 0;
let sequence = 0;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUIDv7 (RFC 9562 section 5.7): 48 bits of Unix milliseconds, a 12-bit counter that keeps the
 * ids of one process ordered within a millisecond, and 62 random bits.
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMillis) {
    lastMillis = now;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    lastMillis += 1;
    sequence = 0;
  }
  if (poolOffset + 8 > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const high = Math.floor(lastMillis / 0x1_0000_0000);
  const low = lastMillis >>> 0;
  const byte = (value: number) => hex[value & 0xff]!;
  const random = (index: number) => hex[pool[poolOffset + index]!]!;
  const id =
    byte(high >>> 8) +
    byte(high) +
    byte(low >>> 24) +
    byte(low >>> 16) +
    '-' +
    byte(low >>> 8) +
    byte(low) +
    '-' +
    byte(0x70 | (sequence >>> 8)) +
    byte(sequence) +
    '-' +
    byte(0x80 | (pool[poolOffset]! & 0x3f)) +
    random(1) +
    '-' +
    random(2) +
    random(3) +
    random(4) +
    random(5) +
    random(6) +
    random(7);
  poolOffset += 8;
  return id;
}

/** A UUIDv4 (RFC 9562 section 5.4): says nothing about when it was made. */
export function newRandomId(): string {
  return randomUUID();
}
