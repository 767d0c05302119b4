import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bucketOf, middleOf } from '#core/log/request-counts';
import { previewConfig } from '#modules/logs/config-changes';
import { lastCleanup, percentileOf } from '#modules/logs/logs.rules';

describe('the histogram', () => {
  it('finds every duration again within a twentieth', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.2, max: 90_000, noNaN: true }), (ms) => {
        expect(Math.abs(middleOf(bucketOf(ms)) - ms) / ms).toBeLessThan(0.0501);
      }),
    );
  });

  it('has the percentiles of what was counted', () => {
    const histogram = [
      { bucket: 1, requests: 50 },
      { bucket: 2, requests: 45 },
      { bucket: 3, requests: 4 },
      { bucket: 4, requests: 1 },
    ];
    expect([50, 95, 99, 100].map((percent) => percentileOf(histogram, percent))).toEqual([1, 2, 3, 4]);
    expect(percentileOf([], 50)).toBeUndefined();
  });
});

describe('lastCleanup', () => {
  it.each([
    ['0 3 * * *', '2026-05-10T03:00:00Z', '2026-05-10T03:00:00.000Z'],
    ['0 3 * * *', '2026-05-10T02:59:59Z', '2026-05-09T03:00:00.000Z'],
    ['30 23 * * *', '2026-05-10T00:00:00Z', '2026-05-09T23:30:00.000Z'],
  ])('%s at %s', (schedule, now, expected) => {
    expect(lastCleanup(schedule, new Date(now)).toISOString()).toBe(expected);
  });
});

describe('previewConfig', () => {
  const present = {
    levels: { http: 'info', auth: 'info' } as const,
    retentionDays: 30,
    volumes: [
      { service: 'http', level: 30, lines: 1000, bytes: 200_000 },
      { service: 'http', level: 40, lines: 10, bytes: 3000 },
      { service: 'auth', level: 30, lines: 100, bytes: 10_000 },
    ],
  };

  it('reckons with what was really logged', () => {
    const body = { logLevels: { http: 'warn' }, cleanup: { retentionDays: 60 } } as const;
    expect(previewConfig(body, present)).toEqual({
      affectedServices: ['http'],
      estimatedLogVolume: 110,
      storageImpact: { current: 213_000 * 30, projected: 13_000 * 60, change: 13_000 * 60 - 213_000 * 30 },
      warnings: [],
    });
  });

  it('says what it cannot know', () => {
    const { warnings, affectedServices } = previewConfig({ logLevels: { auth: 'debug' } }, present);
    expect(affectedServices).toEqual(['auth']);
    expect(warnings).toEqual([expect.stringContaining('auth')]);
    expect(previewConfig({}, { ...present, volumes: [] }).warnings).toHaveLength(1);
  });
});
