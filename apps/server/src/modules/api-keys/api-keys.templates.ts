import type { ApiKeyPermissions } from '#core/base/access/flags';

type Template = { name: string; description: string; permissions: ApiKeyPermissions };

const read = { read: true };
const everything = { read: true, write: true, delete: true };

/** Initial permissions of API keys (specification, "Permission object"). */
export const templates: readonly Template[] = [
  {
    name: 'READ_ONLY',
    description: 'Read access to all data',
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
    description: 'Tracking of resources: read and change resources and their QR codes, look up addresses',
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
    description: 'Booking: read spaces, resources, users and calendars',
    permissions: {
      resources: { read: true, properties: [] },
      spaces: read,
      calendar: { free_busy: true, events: true },
      users: read,
    },
  },
  {
    name: 'FULL_ACCESS',
    description: 'All permissions that an API key can hold',
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
