import { describe, expect, it } from 'vitest';

import {
  ApiKeyPermissionChanges,
  ApiKeyPermissions,
  AppAccountPermissionChanges,
  AppAccountPermissions,
  allowedProperties,
  flagNames,
  flagsOf,
  mergePermissions,
  neededToGrant,
} from '#core/base/access/flags';
import { permissionNames } from '#core/base/access/permissions';
import { createCheck } from '#core/http/validation';

/** The specification's "Permission object", written down by hand. */
const ofBoth: Record<string, string[]> = {
  resources: ['read', 'write', 'delete'],
  spaces: ['read', 'write', 'delete'],
  geo: ['geocode', 'reverse_geocode'],
  calendar: ['free_busy', 'events'],
  users: ['read'],
};
const ofKeysOnly: Record<string, string[]> = {
  tags: ['read'],
  categories: ['read'],
  typeDefinitions: ['read'],
  feedbacks: ['read'],
  qrCodes: ['read', 'write', 'delete', 'assign'],
};
const ofKeys = { ...ofBoth, ...ofKeysOnly };
const namesIn = (sections: Record<string, string[]>) =>
  Object.entries(sections).flatMap(([section, flags]) => flags.map((flag) => `${section}.${flag}`));

const everything = (sections: Record<string, string[]>, value = true) =>
  Object.fromEntries(
    Object.entries(sections).map(([section, flags]) => [
      section,
      Object.fromEntries(flags.map((flag) => [flag, value])),
    ]),
  );

describe('flagNames', () => {
  it('are those of the specification, none more and none less', () => {
    expect(flagNames.toSorted()).toEqual(namesIn(ofKeys).toSorted());
  });
});

describe.each([
  ['ApiKeyPermissions', ApiKeyPermissions, ApiKeyPermissionChanges, ofKeys],
  ['AppAccountPermissions', AppAccountPermissions, AppAccountPermissionChanges, ofBoth],
] as const)('%s', (name, schema, changes, sections) => {
  const [check, checkChange] = [createCheck(schema), createCheck(changes)];
  const fits = (value: unknown) => check(value) === undefined;
  const changeFits = (value: unknown) => checkChange(value) === undefined;
  const isClosedTo = (value: unknown) => !fits(value) && !changeFits(value);

  it('takes every flag of the specification, set or not, and each may be missing', () => {
    for (const value of [true, false]) expect(fits(everything(sections, value))).toBe(true);
    expect(fits({})).toBe(true);
    for (const section of Object.keys(sections)) expect(fits({ [section]: {} })).toBe(true);
  });

  it('takes no section and no flag that is not there', () => {
    expect(isClosedTo({ contacts: { read: true } })).toBe(true);
    for (const section of Object.keys(sections)) expect(isClosedTo({ [section]: { all: true } })).toBe(true);
    expect(isClosedTo({ users: { write: true } })).toBe(true);
    expect(isClosedTo({ spaces: { properties: [] } })).toBe(true);
    const takesMore = name === 'ApiKeyPermissions';
    for (const section of Object.keys(ofKeysOnly)) expect(fits({ [section]: { read: true } })).toBe(takesMore);
  });

  it.each([1, 'true', null, [], {}])('takes no flag that is %j', (value) => {
    for (const [section, flags] of Object.entries(sections))
      for (const flag of flags) expect(isClosedTo({ [section]: { [flag]: value } })).toBe(true);
  });

  it('takes up to 200 names of properties, of 1 to 200 characters, each once', () => {
    const take = (properties: unknown) =>
      fits({ resources: { properties } }) && changeFits({ resources: { properties } });
    const named = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`);
    for (const good of [[], named(200), ['x'], ['x'.repeat(200)]]) expect(take(good)).toBe(true);
    for (const bad of [named(201), [''], ['x'.repeat(201)], ['x', 'x'], [1], 'x', null, {}])
      expect(isClosedTo({ resources: { properties: bad } })).toBe(true);
  });

  it('only a change may take a section away', () => {
    for (const section of Object.keys(sections)) {
      expect(fits({ [section]: null })).toBe(false);
      expect(changeFits({ [section]: null })).toBe(true);
    }
  });
});

describe('flagsOf', () => {
  it('are those that are set, and only true sets one', () => {
    expect([...flagsOf(everything(ofKeys))].toSorted()).toEqual(namesIn(ofKeys).toSorted());
    expect([...flagsOf(everything(ofKeys, false))]).toEqual([]);
    expect([...flagsOf({ spaces: { read: true, write: false }, geo: {}, users: undefined })]).toEqual(['spaces.read']);
    expect([...flagsOf({ spaces: { read: 'true', write: 1 }, unknown: { read: true } })]).toEqual([]);
  });

  it('are not set by what every object has', () => {
    expect([...flagsOf({ constructor: { read: true }, spaces: { toString: true } })]).toEqual([]);
  });
});

describe('allowedProperties', () => {
  it('are all when none is named', () => {
    for (const permissions of [{}, { resources: {} }, { resources: { read: true, properties: [] } }])
      expect(allowedProperties(permissions)).toBeUndefined();
  });

  it('are the named ones', () => {
    expect(allowedProperties({ resources: { properties: ['color', 'serial'] } })).toEqual(new Set(['color', 'serial']));
  });
});

describe('neededToGrant', () => {
  it.each([
    [['spaces.read', 'resources.read', 'geo.geocode', 'calendar.events', 'tags.read'], []],
    [['spaces.write'], ['spaces.manage']],
    [['spaces.write', 'spaces.delete', 'spaces.read'], ['spaces.manage']],
    [['resources.write', 'resources.delete'], ['resources.manage']],
    [['qrCodes.assign', 'qrCodes.write', 'qrCodes.delete'], ['resources.manage']],
    [['users.read'], ['users.read']],
    [[], []],
  ] as const)('%j: %j', (flags, needed) => {
    expect(neededToGrant(flags)).toEqual(needed);
  });

  it('every flag that changes or removes something needs a permission', () => {
    for (const flag of flagNames.filter((name) => /\.(write|delete|assign)$/.test(name)))
      expect({ flag, needed: neededToGrant([flag]).length }).toEqual({ flag, needed: 1 });
  });

  it('what is needed exists', () => {
    for (const permission of neededToGrant(flagNames)) expect(permissionNames).toContain(permission);
  });
});

describe('mergePermissions', () => {
  const current = { spaces: { read: true, write: true }, resources: { read: true, properties: ['a', 'b'] } };

  it.each([
    ['nothing', {}, current],
    ['a flag', { spaces: { write: false } }, { ...current, spaces: { read: true, write: false } }],
    ['a flag more', { spaces: { delete: true } }, { ...current, spaces: { read: true, write: true, delete: true } }],
    ['a section more', { geo: { geocode: true } }, { ...current, geo: { geocode: true } }],
    [
      'properties as a whole',
      { resources: { properties: ['c'] } },
      { ...current, resources: { read: true, properties: ['c'] } },
    ],
    ['no properties', { resources: { properties: [] } }, { ...current, resources: { read: true, properties: [] } }],
    ['a section less', { spaces: null }, { resources: current.resources }],
    ['a section less that is not there', { geo: null }, current],
    ['a section that is not given', { spaces: undefined }, current],
    ['an empty section', { spaces: {} }, current],
  ])('%s', (_what, change, merged) => {
    const before = structuredClone(current);
    expect(mergePermissions<Record<string, Record<string, unknown>>>(current, change)).toEqual(merged);
    expect(current).toEqual(before);
  });
});
