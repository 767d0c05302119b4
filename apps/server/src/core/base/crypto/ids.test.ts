import { describe, expect, it } from 'vitest';

import { createIdSource, newId, newRandomId } from '#core/base/crypto/ids';

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const timeOf = (id: string) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16);

describe('newId', () => {
  it('makes 100 000 unique UUIDv7 in ascending order', () => {
    const ids = Array.from({ length: 100_000 }, () => newId());
    expect(ids.filter((id) => !form.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id, at) => at === 0 || ids[at - 1]! < id)).toBe(true);
  });

  it('begins with the time', () => {
    const nextId = createIdSource();
    const later = Date.now() + 60_000;
    expect(timeOf(nextId(later))).toBe(later);
    const far = 0x7fff_ffff_ffff;
    expect(timeOf(nextId(far))).toBe(far);
  });

  it('goes on in order when the clock is set back, and when a millisecond is full', () => {
    const nextId = createIdSource();
    const at = 0x7fff_ffff_ffff + 1;
    const ids = [nextId(at), nextId(at - 5000), ...Array.from({ length: 5000 }, () => nextId(at))];
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(timeOf(ids.at(-1)!)).toBe(at + 1);
  });

  it('is not guessable from its neighbour', () => {
    const tails = Array.from({ length: 1000 }, () => newId().slice(-12));
    expect(new Set(tails).size).toBe(1000);
  });
});

it('newRandomId makes UUIDv4, which say nothing of when', () => {
  const ids = Array.from({ length: 1000 }, newRandomId);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids.map((id) => id.slice(0, 8))).size).toBeGreaterThan(990);
});
