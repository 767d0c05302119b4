import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { preferredLanguages } from '#core/http/languages';

describe('preferredLanguages', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['de', ['de']],
    ['DE', ['de']],
    ['de-AT', ['de']],
    ['zh-Hant-TW', ['zh']],
    ['de-AT, de, en', ['de', 'en']],
    ['fr;q=0.5, de', ['de', 'fr']],
    ['en;q=0.8, de;q=0.9, fr', ['fr', 'de', 'en']],
    ['en;q=0.5,de;q=0.5', ['en', 'de']],
    ['en;q=0.501,de;q=0.502', ['de', 'en']],
    ['de;q=1.000, en;q=1', ['de', 'en']],
    ['de ; q=0.1 ,en\t;\tq=0.2', ['en', 'de']],
    ['de;Q=0.1,en', ['en', 'de']],
    ['de;q=0, en;q=0.000, fr', ['fr']],
    // The best of several of one language counts.
    ['de;q=0.1, en;q=0.5, de-AT', ['de', 'en']],
    ['*', []],
    ['*, en;q=0.5', ['en']],
    ['gsw, de;q=0.5', ['de']],
    ['i-klingon, x-private, de', ['de']],
    ['de;q=2, en;q=-1, fr;q=0.1234, it;q=x, es;q=, pt', ['pt']],
    ['de en, fr', ['fr']],
    ['de-, d, -de, de_AT, fr', ['fr']],
    [',,;,=,fr', ['fr']],
  ])('%j: %j', (header, languages) => {
    expect(preferredLanguages(header)).toEqual(languages);
  });

  it('reads the first 50 and no more', () => {
    const many = (count: number) => `${'x-x,'.repeat(count)}de`;
    expect(preferredLanguages(many(49))).toEqual(['de']);
    expect(preferredLanguages(many(50))).toEqual([]);
  });

  it('returns distinct two-letter languages for any text', () => {
    const part = fc.oneof(
      fc.string(),
      fc.tuple(fc.constantFrom('de', 'en-GB', 'FR', '*'), fc.float()).map(([a, b]) => `${a};q=${b}`),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const languages = preferredLanguages(parts.join(','));
        expect(languages.every((language) => /^[a-z]{2}$/.test(language))).toBe(true);
        expect(new Set(languages).size).toBe(languages.length);
      }),
    );
  });
});
