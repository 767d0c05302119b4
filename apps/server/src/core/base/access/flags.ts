import Type, { type Static, type TBoolean, type TOptional, type TProperties } from 'typebox';

import type { Permission } from '#core/base/access/permissions';
import { nullable } from '#core/base/schemas';

/**
 * What an API key or an app account may be allowed to do (specification, "Permission object"). Each flag names the
 * permission that a person has to hold to grant it; null where every member of the tenant may do the same.
 */
const sections = {
  resources: { read: null, write: 'resources.manage', delete: 'resources.manage' },
  spaces: { read: null, write: 'spaces.manage', delete: 'spaces.manage' },
  geo: { geocode: null, reverse_geocode: null },
  calendar: { free_busy: null, events: null },
  users: { read: 'users.read' },
  tags: { read: null },
  categories: { read: null },
  typeDefinitions: { read: null },
  feedbacks: { read: 'feedbacks.read' },
  qrCodes: { read: null, write: 'resources.manage', delete: 'resources.manage', assign: 'resources.manage' },
} as const satisfies Record<string, Record<string, Permission | null>>;

type Sections = typeof sections;
type Section = keyof Sections;

/** `section.flag`, e.g. `spaces.read`. */
export type Flag = { [S in Section]: `${S}.${Extract<keyof Sections[S], string>}` }[Section];

export const flagNames = Object.entries(sections).flatMap(([section, flags]) =>
  Object.keys(flags).map((flag) => `${section}.${flag}` as Flag),
);

const properties = Type.Array(Type.String({ minLength: 1, maxLength: 200, format: 'property-name' }), {
  maxItems: 200,
  uniqueItems: true,
  description: 'Names of the properties that may be seen and written; an empty list means all.',
});

function sectionSchema<Name extends Section>(name: Name) {
  const flags = Object.keys(sections[name]).map((flag) => {
    const description = `Whether \`${name}.${flag}\` is allowed.`;
    return [flag, Type.Optional(Type.Boolean({ description }))];
  });
  return Type.Object(Object.fromEntries(flags) as { [Key in keyof Sections[Name]]: TOptional<TBoolean> }, {
    additionalProperties: false,
    description: `Flags of the section \`${name}\`.`,
  });
}

const appAccountSections = {
  resources: Type.Object(
    { ...sectionSchema('resources').properties, properties: Type.Optional(properties) },
    { additionalProperties: false, description: 'Flags of the section `resources`.' },
  ),
  spaces: sectionSchema('spaces'),
  geo: sectionSchema('geo'),
  calendar: sectionSchema('calendar'),
  users: sectionSchema('users'),
};
const apiKeySections = {
  ...appAccountSections,
  tags: sectionSchema('tags'),
  categories: sectionSchema('categories'),
  typeDefinitions: sectionSchema('typeDefinitions'),
  feedbacks: sectionSchema('feedbacks'),
  qrCodes: sectionSchema('qrCodes'),
};

/** The Permission object of API keys (variant A). */
export const ApiKeyPermissions = Type.Partial(Type.Object(apiKeySections), {
  additionalProperties: false,
  title: 'ApiKeyPermissions',
});
export type ApiKeyPermissions = Static<typeof ApiKeyPermissions>;

/** The Permission object of app accounts: the sections that the specification lists for them. */
export const AppAccountPermissions = Type.Partial(Type.Object(appAccountSections), {
  additionalProperties: false,
  title: 'AppAccountPermissions',
});
export type AppAccountPermissions = Static<typeof AppAccountPermissions>;

/** A partial update of the same; `mergePermissions` says what it does. */
export const ApiKeyPermissionChanges = Type.Object(changesOf(apiKeySections), {
  additionalProperties: false,
  title: 'ApiKeyPermissionChanges',
  description: 'Flags merge by section, `properties` is replaced, null removes a section.',
});

/** The same for those of app accounts. */
export const AppAccountPermissionChanges = Type.Object(changesOf(appAccountSections), {
  additionalProperties: false,
  title: 'AppAccountPermissionChanges',
  description: 'Flags merge by section, `properties` is replaced, null removes a section.',
});

function changesOf<Schemas extends TProperties>(all: Schemas) {
  const changes = Object.entries(all).map(([name, section]) => [
    name,
    Type.Optional(nullable(section, { description: `Flags of the section \`${name}\`; null removes it.` })),
  ]);
  return Object.fromEntries(changes) as {
    [Name in keyof Schemas]: TOptional<ReturnType<typeof nullable<Schemas[Name]>>>;
  };
}

type PermissionObject = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

/** The flags that are set. */
export function flagsOf(permissions: PermissionObject): ReadonlySet<Flag> {
  return new Set(
    flagNames.filter((name) => {
      const [section, flag] = name.split('.') as [string, string];
      return permissions[section]?.[flag] === true;
    }),
  );
}

/** The names that `resources.properties` lets through; undefined means all of them. */
export function allowedProperties(permissions: PermissionObject): ReadonlySet<string> | undefined {
  const names = permissions.resources?.properties as readonly string[] | undefined;
  return names === undefined || names.length === 0 ? undefined : new Set(names);
}

/** The permissions that a person has to hold to hand these flags out. */
export function neededToGrant(flags: Iterable<Flag>): Permission[] {
  const needed = [...flags].map((name) => {
    const [section, flag] = name.split('.') as [Section, string];
    return (sections[section] as Record<string, Permission | null | undefined>)[flag];
  });
  return [
    ...new Set(
      needed.filter((permission): permission is Permission => permission !== null && permission !== undefined),
    ),
  ];
}

/** A partial update of a Permission object: sections and flags merge, `properties` is replaced, a section that is null goes. */
export function mergePermissions<Permissions extends PermissionObject>(
  current: Permissions,
  change: Readonly<Record<string, Readonly<Record<string, unknown>> | null | undefined>>,
): Permissions {
  const merged: Record<string, unknown> = { ...current };
  for (const [section, flags] of Object.entries(change)) {
    if (flags === null) delete merged[section];
    else if (flags !== undefined) merged[section] = { ...current[section], ...flags };
  }
  return merged as Permissions;
}
