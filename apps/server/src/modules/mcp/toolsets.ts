/** Tools by what they are about, so that a client can ask for those that it needs; in the order in which they are listed. */
export const toolsets = {
  system: 'Whether the service is well, and its version',
  spaces: 'Sites, buildings, floors and rooms',
  resources: 'Things in spaces or on their own',
  types: 'Types of spaces and resources, with the properties that their records have',
  calendar: 'Bookings of spaces, resources and people, and who is free when',
  contacts: 'Contact records',
  people: 'The people of the tenant, and the own profile',
  contact_links: 'Which contacts belong to spaces and resources',
  taxonomy: 'Tags and categories, and what they are on',
  groups: 'Groups of people and what they may do',
  tasks: 'What the caller has to do',
  files: 'Which files there are, without their content',
  translation: 'Texts, names and descriptions in other languages',
  geo: 'Where addresses are, and what is where',
  audit: 'Who did what in the tenant',
} as const;

declare module '#core/http/tool' {
  type Declared = typeof toolsets;
  interface Toolsets extends Declared {}
}

/** What clients get that ask for none: some read only the first tools of a long list. */
export const defaultToolsets: ReadonlySet<keyof typeof toolsets> = new Set([
  'system',
  'spaces',
  'resources',
  'types',
  'calendar',
  'contacts',
  'people',
]);
