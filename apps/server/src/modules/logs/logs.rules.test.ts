import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bucketOf, middleOf } from '#core/log/request-counts';
import { previewConfig } from '#modules/logs/config-changes';
import { csvLine, lastCleanup, percentileOf } from '#modules/logs/logs.rules';

/** Strictly RFC 4180: every field quoted, lines end with CRLF. */
function parseCsv(text: string): string[][] {
  const lines: string[][] = [[]];
  let rest = text;
  while (rest !== '') {
    const match = /^"((?:[^"]|"")*)"(,|\r\n)/.exec(rest);
    if (match === null) throw new Error(`not RFC 4180: ${rest.slice(0, 40)}`);
    lines.at(-1)!.push(match[1]!.replaceAll('""', '"'));
    if (match[2] === '\r\n') lines.push([]);
    rest = rest.slice(match[0].length);
  }
  lines.pop();
  return lines;
}

const formulas = ['=', '+', '-', '@', '＝', '＋', '－', '＠'].flatMap((sign) => [
  `${sign}cmd|' /C calc'!A0`,
  ` ${sign}1+1`,
  `\t${sign}1`,
  `\n${sign}1`,
  `\u00a0${sign}HYPERLINK("https://evil.example")`,
]);

describe('csvLine', () => {
  it.each([...formulas, '\tx', '\rx', '\0=1+1', '=\0'])('disarms %j', (field) => {
    const [[read]] = parseCsv(csvLine([field])) as [[string]];
    expect(read.startsWith("'")).toBe(true);
    expect(read).not.toContain('\0');
  });

  it('keeps everything else as it is, through a strict parser', () => {
    const harmless = fc.string({ unit: 'binary' }).map((text) => `x${text.replaceAll('\0', '')}`);
    fc.assert(
      fc.property(fc.array(fc.array(harmless, { minLength: 1, maxLength: 9 }), { maxLength: 20 }), (records) => {
        expect(parseCsv(records.map(csvLine).join(''))).toEqual(records);
      }),
      { numRuns: 1000 },
    );
  });

  it('lets nothing through that begins like a formula, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [[read]] = parseCsv(csvLine([text])) as [[string]];
        expect(read).not.toMatch(/^\s*[=+\-@＝＋－＠]/u);
      }),
      { numRuns: 5000 },
    );
  });
});

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
