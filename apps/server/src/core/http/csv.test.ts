import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { csvLine } from '#core/http/csv';

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

  it('never lets a field begin like a formula', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [[read]] = parseCsv(csvLine([text])) as [[string]];
        expect(read).not.toMatch(/^\s*[=+\-@＝＋－＠]/u);
      }),
      { numRuns: 5000 },
    );
  });
});
