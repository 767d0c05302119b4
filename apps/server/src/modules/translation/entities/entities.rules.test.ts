import { describe, expect, it } from 'vitest';

import {
  hashOf,
  merge,
  placeOf,
  planUnits,
  toEntity,
  type Manner,
  type Mark,
  type Stored,
  type TranslatedUnit,
} from '#modules/translation/entities/entities.rules';

const limits = { name: 20, description: 40, bytes: 400 };
const own = { language: 'en', place: null };
const fill: Manner = { overwrites: false, protects: false };
const overwrite: Manner = { overwrites: true, protects: false };
const protect: Manner = { overwrites: true, protects: true };

const hall = (translations: Stored = {}, description: string | null = 'For many') =>
  toEntity({ id: '1', name: 'Hall', description, translations }, 'en');
const markOf = (language: string, value: string): Mark => ({
  entity_id: '1',
  language,
  field: 'name',
  source_language: null,
  source_hash: hashOf('Hall'),
  value_hash: hashOf(value),
  provider: 'x',
});
const unit = (change: Partial<TranslatedUnit> = {}): TranslatedUnit => ({
  entityId: '1',
  language: 'de',
  field: 'name',
  text: 'Hall',
  source: own,
  seen: null,
  translation: 'Saal',
  provider: 'x',
  ...change,
});

describe('planUnits', () => {
  const plan = (translations: Stored, wish: Manner & { marks?: Mark[] }) =>
    planUnits(hall(translations), own, { marks: [], ...wish, baseLanguage: 'en', targets: ['en', 'de', 'fr'] }).map(
      ({ language, field }) => `${language} ${field}`,
    );
  const all = ['de name', 'de description', 'fr name', 'fr description'];
  const partly: Stored = { de: { name: 'Saal' }, fr: { name: ' ', description: 'Pour tous' } };

  it.each<[string, Stored, Manner & { marks?: Mark[] }, string[]]>([
    ['fills all of nothing', {}, fill, all],
    ['fills field by field', partly, fill, ['de description', 'fr name']],
    ['overwrites all', partly, overwrite, all],
    ['protects what people wrote', partly, protect, ['de description', 'fr name']],
    [
      'overwrites what a machine wrote',
      partly,
      { ...protect, marks: [markOf('de', 'Saal')] },
      ['de name', 'de description', 'fr name'],
    ],
    [
      'protects what was edited since',
      partly,
      { ...protect, marks: [markOf('de', 'Halle')] },
      ['de description', 'fr name'],
    ],
    [
      'fills nothing that a machine wrote',
      partly,
      { ...fill, marks: [markOf('de', 'Saal')] },
      ['de description', 'fr name'],
    ],
  ])('%s', (_, translations, wish, planned) => {
    expect(plan(translations, wish)).toEqual(planned);
  });

  it('plans nothing for empty texts and nothing into the source language', () => {
    const wish = { ...fill, marks: [], baseLanguage: 'en', targets: ['de', 'nl'] };
    const units = planUnits(hall({}, ' '), { language: 'nl', place: null }, wish);
    expect(units).toMatchObject([{ language: 'de', field: 'name', seen: null }]);
  });
});

describe('placeOf', () => {
  const category = (translations: Stored) => toEntity({ id: '1', translations }, 'en');

  it.each<[string, Stored, string | undefined, string | null | undefined]>([
    ['own text', { en: { name: 'Chair' }, de: { name: 'Stuhl' } }, undefined, null],
    ['a translation without own text', { fr: { name: 'Chaise' }, de: { name: 'Stuhl' } }, undefined, 'de'],
    ['one that says something', { fr: { name: 'Chaise' }, de: { name: ' ' } }, undefined, 'fr'],
    ['the given one', { en: { name: 'Chair' }, de: { name: 'Stuhl' } }, 'de', 'de'],
    ['own text if the given one is missing', { en: { name: 'Chair' } }, 'de', null],
    ['own text if it is given', { en: { name: 'Chair' }, de: { name: 'Stuhl' } }, 'en', null],
    ['nothing where nothing is', { de: { name: 'Stuhl' } }, 'fr', undefined],
  ])('%s', (_, translations, given, place) => {
    expect(placeOf(category(translations), given, 'en')?.place).toBe(place);
  });
});

describe('merge', () => {
  const put = (translations: Stored, units: TranslatedUnit[], rest: Partial<Parameters<typeof merge>[2]> = {}) =>
    merge(hall(translations), units, { ...fill, limits, marks: [], ...rest });
  const counts = ({ written, outdated, unfit }: ReturnType<typeof put>) => [
    written.length,
    outdated.length,
    unfit.length,
  ];

  it.each<[string, Stored, [Partial<TranslatedUnit>, Parameters<typeof put>[2]?], number[]]>([
    ['writes what is missing', {}, [{}], [1, 0, 0]],
    ['keeps what came meanwhile', { de: { name: 'Diele' } }, [{}], [0, 0, 0]],
    ['keeps what came meanwhile, with given targets, too', { de: { name: 'Diele' } }, [{}, overwrite], [0, 0, 0]],
    ['keeps what was edited meanwhile', { de: { name: 'Diele' } }, [{ seen: 'Halle' }, overwrite], [0, 0, 0]],
    ['keeps away what was taken away meanwhile', {}, [{ seen: 'Halle' }, overwrite], [0, 0, 0]],
    ['overwrites what was there', { de: { name: 'Halle' } }, [{ seen: 'Halle' }, overwrite], [1, 0, 0]],
    [
      'overwrites what another machine wrote meanwhile',
      { de: { name: 'Diele' } },
      [{}, { ...overwrite, marks: [markOf('de', 'Diele')] }],
      [1, 0, 0],
    ],
    ['leaves what is made from another text', {}, [{ text: 'Foyer' }], [0, 1, 0]],
    ['leaves what is too long', {}, [{ translation: 'x'.repeat(21) }], [0, 0, 1]],
    ['counts characters, not units', {}, [{ translation: '\u{1F600}'.repeat(20) }], [1, 0, 0]],
    ['leaves what says nothing', {}, [{ translation: ' ' }], [0, 0, 1]],
    ['leaves what makes the whole too large', { fr: { description: 'x'.repeat(380) } }, [{}], [0, 0, 1]],
  ])('%s', (_, translations, [change, rest], expected) => {
    expect(counts(put(translations, [unit(change)], rest))).toEqual(expected);
  });

  it('omits a translation without a required name', () => {
    const strict = { limits: { ...limits, needsName: true } };
    const description = unit({ field: 'description', text: 'For many', translation: 'Für viele' });
    expect(counts(put({}, [description], strict))).toEqual([0, 0, 1]);
    expect(put({}, [unit(), description], strict).translations).toEqual({
      de: { name: 'Saal', description: 'Für viele' },
    });
    expect(put({}, [unit()], strict).translations).toEqual({ de: { name: 'Saal', description: null } });
  });
});
