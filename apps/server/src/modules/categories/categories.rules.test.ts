import { describe, expect, it } from 'vitest';

import { localise, mergeTranslations, searchTextOf } from '#modules/categories/categories.rules';

const named = (name: string, description: string | null = null) => ({ name, description });
const all = { de: named('Raum', 'Groß'), en: named('Room'), fr: named('Salle', 'Grande') };

describe('localise', () => {
  it.each([
    ['the first that is there', ['it', 'de', 'en'], { name: 'Raum', description: 'Groß', language: 'de' }],
    // Each field separately: an untranslated description is better than a missing one.
    ['a description from further on', ['en', 'fr', 'de'], { name: 'Room', description: 'Grande', language: 'en' }],
    ['any description', ['en'], { name: 'Room', description: 'Groß', language: 'en' }],
    ['any at all, by its letters', ['it'], { name: 'Raum', description: 'Groß', language: 'de' }],
    ['any where nothing is wanted', [], { name: 'Raum', description: 'Groß', language: 'de' }],
  ])('%s', (_what, languages, expected) => {
    expect(localise(all, languages)).toEqual(expected);
  });

  it('returns null if no language has a description, and an empty description as it is', () => {
    expect(localise({ en: named('Room'), de: named('Raum') }, ['de'])).toEqual({ ...named('Raum'), language: 'de' });
    expect(localise({ en: named('Room', ''), de: named('Raum', 'x') }, ['en']).description).toBe('');
  });

  it('ignores inherited properties', () => {
    expect(localise({ en: named('Room') }, ['constructor', '__proto__'])).toMatchObject({ language: 'en' });
  });
});

describe('mergeTranslations', () => {
  it('replaces, adds, removes and keeps languages', () => {
    expect(
      mergeTranslations(all, { de: { name: 'Zimmer' }, fr: null, it: { name: 'Sala', description: 'G' }, es: null }),
    ).toEqual({ de: named('Zimmer'), en: named('Room'), it: named('Sala', 'G') });
    expect(mergeTranslations(all, { de: null, en: null, fr: null })).toEqual({});
  });
});

it('searchTextOf normalises case and composition', () => {
  expect(searchTextOf('my-key', { de: named('GRO\u0308SSE', 'NOT'), en: named('Size') })).toBe('my-key\ngrösse\nsize');
});
