/** Tools by subject, so that a client can choose those that it needs; the order is the order of lists. */
export const toolsets = {
  system: 'Health and version of the service',
  spaces: 'Sites, buildings, floors and rooms',
  resources: 'Things, in spaces or independent',
  types: 'Types of spaces and resources, with the properties of their records',
  calendar: 'Bookings of spaces, resources and users, and their free times',
  contacts: 'Contact records',
  people: 'Users of the tenant, and your profile',
  contact_links: 'Contacts of spaces and resources',
  taxonomy: 'Tags and categories, and their records',
  groups: 'Groups of users and their permissions',
  tasks: 'Flow tasks of the caller',
  files: 'Files, without their content',
  translation: 'Texts, names and descriptions in other languages',
  geo: 'Positions of addresses, and addresses of positions',
  audit: 'Audit trail of the tenant',
} as const;

declare module '#core/http/tool' {
  type Declared = typeof toolsets;
  interface Toolsets extends Declared {}
}

/** Toolsets of clients that choose none; some clients read only the first tools of a long list. */
export const defaultToolsets: ReadonlySet<keyof typeof toolsets> = new Set([
  'system',
  'spaces',
  'resources',
  'types',
  'calendar',
  'contacts',
  'people',
]);
