import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bucketOf, middleOf } from '#core/data/log/request-counts';
import { previewConfig } from '#modules/logs/config-changes';
import { archiveFolders, percentileOf } from '#modules/logs/logs.rules';

describe('the histogram', () => {
  it('returns every duration within 5 %', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.2, max: 90_000, noNaN: true }), (ms) => {
        expect(Math.abs(middleOf(bucketOf(ms)) - ms) / ms).toBeLessThan(0.0501);
      }),
    );
  });

  it('returns the percentiles of the counted requests', () => {
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

describe('archiveFolders', () => {
  it.each([
    ['', []],
    ['logs', ['logs']],
    ['logs/production/', ['logs', 'production']],
    ['a.b_c-D/0', ['a.b_c-D', '0']],
  ])('%j is a path below the archive', (location, folders) => {
    expect(archiveFolders(location)).toEqual(folders);
  });

  it.each([
    '/',
    '/var/log',
    '../up',
    'a/../b',
    'a/..',
    '.',
    './a',
    '.hidden',
    'a//b',
    'a/ ',
    'a\\b',
    'C:\\logs',
    'C:/logs',
    's3://bucket/a',
    'https://example.com/a',
    'a%2f..',
    'a\0b',
    'ä',
    'x'.repeat(65),
    'a/'.repeat(9),
  ])('%j is invalid', (location) => {
    expect(archiveFolders(location)).toBeUndefined();
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

  it('estimates from the lines that were written', () => {
    const body = { logLevels: { http: 'warn' }, cleanup: { retentionDays: 60 } } as const;
    expect(previewConfig(body, present)).toEqual({
      affectedServices: ['http'],
      estimatedLogVolume: 110,
      storageImpact: { current: 213_000 * 30, projected: 13_000 * 60, change: 13_000 * 60 - 213_000 * 30 },
      warnings: [],
    });
  });

  it('warns about what it cannot know', () => {
    const { warnings, affectedServices } = previewConfig({ logLevels: { auth: 'debug' } }, present);
    expect(affectedServices).toEqual(['auth']);
    expect(warnings).toEqual([expect.stringContaining('auth')]);
    expect(previewConfig({}, { ...present, volumes: [] }).warnings).toHaveLength(1);
  });
});
