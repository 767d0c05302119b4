import { expect, it, vi } from 'vitest';

import { createConnectionBounds } from '#core/http/connection-bounds';

const warn = vi.fn<() => void>();
const boundsOf = (maxPerAddress: number, trustedProxies: string[] = []) =>
  createConnectionBounds({ maxPerAddress, trustedProxies, log: { warn }, now: () => 0 });

it('an address has so many connections at once, and another one when one of them ends', () => {
  warn.mockClear();
  const bounds = boundsOf(2);
  const release = bounds.take('192.0.2.1')!;
  expect(bounds.take('::ffff:192.0.2.1')).toBeTypeOf('function');
  expect(bounds.take('192.0.2.1')).toBeUndefined();
  expect(bounds.take('192.0.2.2')).toBeTypeOf('function');
  release();
  release();
  expect(bounds.take('192.0.2.1')).toBeTypeOf('function');
  expect(bounds.take('192.0.2.1')).toBeUndefined();
  expect(bounds.refused()).toBe(2);
  expect(warn).toHaveBeenCalledOnce();
});

it('counts an IPv6 /64 as one address', () => {
  const bounds = boundsOf(1);
  expect(bounds.take('2001:db8::1')).toBeTypeOf('function');
  expect(bounds.take('2001:db8::2')).toBeUndefined();
  expect(bounds.take('2001:db8:0:1::2')).toBeTypeOf('function');
});

it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.1.2.3', undefined])('%s has no bound', (address) => {
  const bounds = boundsOf(1, ['10.0.0.0/8']);
  for (let at = 0; at < 50; at++) expect(bounds.take(address)).toBeTypeOf('function');
});
