import { describe, expect, it } from 'vitest';

import type { Model } from '#modules/connectors/index';
import { isAging, isDoubtful, isFree, isStale, pauseAfter, selectModels } from '#modules/models/catalog.rules';

const model = (id: string, rest: Partial<Model> = {}): Model => ({
  id,
  name: id,
  description: null,
  contextLength: null,
  promptPrice: null,
  completionPrice: null,
  imagePrice: null,
  requestPrice: null,
  expiresAt: null,
  ...rest,
});

describe('isFree', () => {
  const prices = (...[promptPrice, completionPrice, imagePrice, requestPrice]: (string | null)[]) =>
    model('a', {
      promptPrice: promptPrice ?? null,
      completionPrice: completionPrice ?? null,
      imagePrice: imagePrice ?? null,
      requestPrice: requestPrice ?? null,
    });

  it.each([
    [prices('0', '0'), true],
    [prices('0', '0.00', '0', '0'), true],
    [prices('0', '0', null, '0'), true],
    [prices('0', '0', '0.1'), false],
    [prices('0', '0', null, '0.01'), false],
    [prices('0', '0.0000001'), false],
    [prices('0', null), false],
    [prices(null, '0'), false],
    [prices(null, null, '0', '0'), false],
    [prices(null, null), false],
  ])('%j: %s', (priced, is) => {
    expect(isFree(priced)).toBe(is);
  });
});

describe('selectModels', () => {
  const now = new Date('2026-06-01T12:00:00Z');
  const idsOf = (models: Model[], order?: Parameters<typeof selectModels>[2]) =>
    selectModels(models, {}, order, now).map(({ id }) => id);

  it('omits models that are no longer available', () => {
    const models = [
      model('gone', { expiresAt: '2026-06-01T12:00:00.000Z' }),
      model('last', { expiresAt: '2026-06-01T12:00:00.001Z' }),
      model('kept'),
    ];
    expect(idsOf(models)).toEqual(['kept', 'last']);
  });

  it.each([false, true])('sorts unknown values last and equal ones by id; descending: %s', (descending) => {
    const models = [
      model('c'),
      model('b', { promptPrice: '1', completionPrice: null }),
      model('a', { promptPrice: '1', completionPrice: '2' }),
      model('e', { promptPrice: '1', completionPrice: '2.0' }),
    ];
    expect(idsOf(models, { column: 'price', descending })).toEqual(['a', 'e', 'b', 'c']);
    expect(idsOf([model('y'), model('x', { contextLength: 1 })], { column: 'context_length', descending })).toEqual([
      'x',
      'y',
    ]);
  });

  it('sorts names case-insensitively', () => {
    expect(idsOf([model('b', { name: 'beta' }), model('a', { name: 'Gamma' }), model('c', { name: 'Alpha' })])).toEqual(
      ['c', 'b', 'a'],
    );
  });
});

it.each([
  [1, 60_000],
  [2, 120_000],
  [6, 1_920_000],
  [7, 3_600_000],
  [1000, 3_600_000],
])('after %i failures a provider is paused for %i ms', (failures, ms) => {
  expect(pauseAfter(failures)).toBe(ms);
});

it.each([
  [0, 0, false],
  [1, 0, true],
  [500, 2, true],
  [500, 3, false],
])('an empty list after %i models and %i failures is doubtful: %s', (had, failures, is) => {
  expect(isDoubtful({ had, failures })).toBe(is);
});

it('a list is stale after a day', () => {
  const now = new Date('2026-06-02T00:00:00Z');
  expect([isStale('2026-06-01T00:00:00.001Z', now), isStale('2026-06-01T00:00:00.000Z', now)]).toEqual([false, true]);
});

it('the job refreshes it two hours earlier', () => {
  const now = new Date('2026-06-02T00:00:00Z');
  expect([isAging('2026-06-01T02:00:00.001Z', now), isAging('2026-06-01T02:00:00.000Z', now)]).toEqual([false, true]);
});
