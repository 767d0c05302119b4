import { newId } from '#core/crypto/ids';
import type { Tenant } from '#test/support/factories';
import { unique } from '#test/support/factories';

/** What a body may refer to; the records belong to the tenant that sends it. */
export type OwnRecords = { tenant: Tenant; spaceId: string; contactId: string };

type Body = Record<string, unknown>;

/** One complete, valid body for every operation that takes one, with all of its properties. */
export const validBodies: Readonly<Record<string, (own: OwnRecords) => Body>> = {
  login: ({ tenant }) => ({
    email: tenant.admin.email,
    password: tenant.admin.password,
    rememberMe: false,
    tenantId: tenant.tenantId,
  }),
  selectTenant: ({ tenant }) => ({ selectionToken: 'x'.repeat(43), tenantId: tenant.tenantId }),
  register: () => ({
    email: `${unique('person')}@sample.example`,
    password: 'correct horse',
    tenantName: 'Sample',
    tenantDomain: unique('sample'),
    displayName: 'Sam Ple',
    locale: 'en',
  }),
  refreshTokens: () => ({ refreshToken: `rt1_${'x'.repeat(43)}` }),
  forgotPassword: () => ({ email: `${unique('nobody')}@sample.example` }),
  resetPassword: () => ({ token: 'x'.repeat(43), password: 'correct horse' }),
  changePassword: () => ({ currentPassword: 'not the password', newPassword: 'correct horse' }),
  createUser: () => ({
    email: `${unique('person')}@sample.example`,
    password: 'correct horse',
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    isTenantAdmin: false,
  }),
  updateUser: () => ({
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    status: 'active',
    isTenantAdmin: false,
  }),
  createGroup: () => ({ name: unique('group'), description: 'Ground floor', permissions: ['users.read'] }),
  updateGroup: () => ({ name: unique('group'), description: null, permissions: [] }),
  addGroupMember: ({ tenant }) => ({ userId: tenant.admin.userId }),
  createSpace: ({ spaceId }) => ({ name: 'Room', ...spaceFields(spaceId) }),
  updateSpace: () => ({ name: 'Room', ...spaceFields(null) }),
  createContact: () => contactFields(),
  updateContact: () => contactFields(),
  addSpaceContact: ({ contactId }) => ({ contactId, isPrimary: true }),
};

function spaceFields(parentId: string | null): Body {
  return {
    parent_id: parentId,
    description: 'On the first floor',
    translations_i18n: { de: { name: 'Raum', description: null } },
    capacity: 12,
    address: { street: 'Main Street', street_number: '1', city: 'Vienna', country_code: 'AT', floor: '1' },
    geo: { lat: 48.2, lng: 16.4 },
    timezone: 'Europe/Vienna',
    status: 'active',
    properties: { projector: true, seats: { fixed: 12 } },
  };
}

function contactFields(): Body {
  return {
    firstName: 'Ada',
    middleName: 'King',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: '+44 20 7946 0958',
    url: 'https://example.com/ada',
    address: { street: 'St James Square', city: 'London', floor: '2' },
    notes: `Noted ${newId()}`,
  };
}
