import type { ApiKeyPermissions } from '#core/access/flags';

type Template = { name: string; description: string; permissions: ApiKeyPermissions };

const read = { read: true };
const everything = { read: true, write: true, delete: true };

/** Permission objects to begin a key with (specification, "Permission object"). */
export const templates: readonly Template[] = [
  {
    name: 'READ_ONLY',
    description: 'See everything, change nothing',
    permissions: {
      resources: { read: true, properties: [] },
      spaces: read,
      calendar: { free_busy: true },
      users: read,
      tags: read,
      categories: read,
      typeDefinitions: read,
      feedbacks: read,
      qrCodes: read,
    },
  },
  {
    name: 'ASSET_TRACKER',
    description: 'Keep track of resources: see and change them, their codes and where they are',
    permissions: {
      resources: { read: true, write: true, properties: [] },
      spaces: read,
      geo: { geocode: true, reverse_geocode: true },
      tags: read,
      categories: read,
      typeDefinitions: read,
      qrCodes: { ...everything, assign: true },
    },
  },
  {
    name: 'BOOKING_SYSTEM',
    description: 'Book: see spaces, resources, people and calendars',
    permissions: {
      resources: { read: true, properties: [] },
      spaces: read,
      calendar: { free_busy: true, events: true },
      users: read,
    },
  },
  {
    name: 'FULL_ACCESS',
    description: 'Everything that a key can be allowed',
    permissions: {
      resources: { ...everything, properties: [] },
      spaces: everything,
      geo: { geocode: true, reverse_geocode: true },
      calendar: { free_busy: true, events: true },
      users: read,
      tags: read,
      categories: read,
      typeDefinitions: read,
      feedbacks: read,
      qrCodes: { ...everything, assign: true },
    },
  },
];

export function findTemplate(name: string): Template | undefined {
  return templates.find((template) => template.name === name);
}
