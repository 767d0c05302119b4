import { describe, expect, it } from 'vitest';

import { parseTraceparent } from '#core/base/tracing/tracing';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

// W3C Trace Context, 3.2.2.
describe('parseTraceparent', () => {
  it.each([
    [`00-${traceId}-${spanId}-01`, 1],
    [`00-${traceId}-${spanId}-00`, 0],
    [`00-${traceId}-${spanId}-ff`, 1],
    [`cc-${traceId}-${spanId}-01-what-the-future-will-be-like`, 1],
  ])('%s', (header, traceFlags) => {
    expect(parseTraceparent(header)).toEqual({ traceId, spanId, traceFlags });
  });

  it.each([
    undefined,
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    ` 00-${traceId}-${spanId}-01`,
  ])('begins a new trace: %s', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });
});
