import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  counts,
  hashOf,
  groupsOf,
  isDone,
  isEverShown,
  isFor,
  localise,
  reordered,
  type Facts,
  type Member,
  type TaskConfig,
  type TaskType,
} from '#modules/flow-tasks/flow-tasks.rules';

const now = new Date('2030-06-01T12:00:00Z');

describe('localise', () => {
  const i18n = {
    de: { title: 'Regeln' },
    en: { title: 'Rules', description: 'Read them' },
    fr: { buttonText: 'Accepter' },
  };

  it.each<[string[], object]>([
    [['de'], { language: 'de', title: 'Regeln', description: 'Read them', buttonText: 'Accepter' }],
    [['it', 'en'], { language: 'en', title: 'Rules', description: 'Read them', buttonText: 'Accepter' }],
    [['fr', 'en', 'de'], { language: 'en', title: 'Rules', description: 'Read them', buttonText: 'Accepter' }],
    [[], { language: 'de', title: 'Regeln', description: 'Read them', buttonText: 'Accepter' }],
  ])('%j: each text in the first language that has it', (languages, shown) => {
    expect(localise({ name: 'Task', i18n }, languages)).toEqual(shown);
  });

  it('an empty text counts as a text, but not as a title; the name is the default title', () => {
    const empty = { language: 'de', title: 'x', description: '', buttonText: null };
    const texts = { en: { title: ' ', description: '' }, de: { title: 'x', description: 'y' } };
    expect(localise({ name: 'Task', i18n: texts }, ['en'])).toEqual(empty);
    const none = { language: null, title: 'Task', description: null, buttonText: null };
    expect(localise({ name: 'Task', i18n: {} }, ['en', 'constructor'])).toEqual(none);
  });
});

it('hashOf: SHA-256 of the three texts as JSON, for any language', () => {
  const text = { title: 'Rules', description: null, buttonText: 'OK' };
  const [one, other] = [hashOf({ ...text, language: 'en' }), hashOf({ ...text, language: 'de' })];
  expect(one).toBe(other);
  expect(one).toBe('d6da58dac671a0f7644b75327de44a9d96a872e967fddff701bb407948f4522b');
  expect(hashOf({ ...text, title: 'Rules ', language: 'en' })).not.toBe(one);
});

describe('isFor', () => {
  const group = newId();
  const member: Member = { createdAt: '2029-01-01T00:00:00.000Z', role: 'member', groupIds: [group] };

  it.each<[TaskConfig, boolean]>([
    [{}, true],
    [{ audience: {} }, true],
    [{ audience: { groups: [newId(), group.toUpperCase()] } }, true],
    [{ audience: { groups: [newId()] } }, false],
    [{ audience: { roles: ['admin', 'member'] } }, true],
    [{ audience: { roles: ['admin'], groups: [group] } }, false],
    [{ audience: { createdBefore: '2029-01-01T00:00:00.001Z' } }, true],
    [{ audience: { createdBefore: '2029-01-01T00:00:00Z' } }, false],
    [{ audience: { groups: [group], createdBefore: '2028-01-01T00:00:00Z' } }, false],
    [{ from: '2030-06-01T12:00:00Z' }, true],
    [{ from: '2030-06-01T12:00:00.001Z' }, false],
    [{ until: '2030-06-01T12:00:00.001Z' }, true],
    [{ until: '2030-06-01T14:00:00+02:00' }, false],
  ])('%j: %s', (config, expected) => {
    expect(isFor(config, member, now)).toBe(expected);
  });
});

it('isEverShown: false if it ends before it starts, with any UTC offset', () => {
  const from = '2030-06-01T12:00:00Z';
  expect(isEverShown({})).toBe(true);
  expect([isEverShown({ from }), isEverShown({ until: from })]).toEqual([true, true]);
  expect(isEverShown({ from, until: '2030-06-01T12:00:00.001Z' })).toBe(true);
  expect(isEverShown({ from, until: '2030-06-01T14:00:00+02:00' })).toBe(false);
});

it('groupsOf: removes duplicates, ignoring case', () => {
  const id = newId();
  expect(groupsOf({ audience: { groups: [id, id.toUpperCase()] } })).toEqual([id]);
  expect([groupsOf({}), groupsOf({ audience: {} })]).toEqual([[], []]);
});

it('counts: forever, or for the given number of days', () => {
  const doneAt = '2030-05-31T12:00:00.001Z';
  expect(counts({}, '2000-01-01T00:00:00Z', now)).toBe(true);
  expect(counts({ repeatEveryDays: 1 }, doneAt, now)).toBe(true);
  expect(counts({ repeatEveryDays: 1 }, '2030-05-31T12:00:00.000Z', now)).toBe(false);
});

describe('isDone', () => {
  const none: Facts = {
    hasAvatar: false,
    hasProvenEmail: false,
    hasProvenPhone: false,
    profile: { displayName: '', fullName: '', locale: 'en', phone: null },
  };

  it.each<[TaskType, TaskConfig, Partial<Facts>, boolean | undefined]>([
    ['avatar', {}, {}, false],
    ['avatar', {}, { hasAvatar: true }, true],
    ['email_verification', {}, {}, false],
    ['email_verification', {}, { hasProvenEmail: true }, true],
    ['phone_verification', {}, {}, false],
    ['phone_verification', {}, { hasProvenPhone: true }, true],
    ['profile', {}, {}, false],
    ['profile', {}, { profile: { ...none.profile, fullName: ' ' } }, false],
    ['profile', {}, { profile: { ...none.profile, fullName: 'Ada' } }, true],
    ['profile', { fields: ['fullName', 'phone'] }, { profile: { ...none.profile, fullName: 'Ada' } }, false],
    ['profile', { fields: ['locale'] }, {}, true],
    ['agb', {}, { hasAvatar: true }, undefined],
    ['kyc', {}, {}, undefined],
    ['custom', {}, {}, undefined],
  ])('%s %j with %j: %s', (type, config, facts, expected) => {
    expect(isDone({ type, config }, { ...none, ...facts })).toBe(expected);
  });
});

it('reordered: listed tasks first, then by priority, then by creation time', () => {
  const task = (id: string, priority: number, second: number) => ({
    id,
    priority,
    created_at: `2030-01-01T00:00:0${second}.000Z`,
  });
  const tasks = [task('e', 5, 1), task('d', 1, 2), task('c', 1, 1), task('b', 1, 1), task('a', 0, 9)];
  expect(reordered(tasks, ['e', 'd'])).toEqual(['e', 'd', 'a', 'b', 'c']);
  expect(reordered(tasks, ['b'])).toEqual(['b', 'a', 'c', 'd', 'e']);
});
