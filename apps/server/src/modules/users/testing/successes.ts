import { unique } from '#test/support/factories';
import type { SampleContext, Successes } from '#test/support/samples';

const users = '/api/v1/secure/users';
const resourceType = 'user';
const fields = { displayName: 'canary', fullName: 'canary' };
const newPerson = () => ({ email: `${unique('canary')}@example.com`, ...fields });

/** Successful calls of all recorded operations on users, invitations and profiles. */
export function userSuccesses({ tenant, create }: SampleContext): Successes {
  const newUser = () => create(users, { email: `${unique('user')}@example.com` });
  return {
    createUser: () => {
      const body = { ...newPerson(), password: 'canary password' };
      return Promise.resolve({ method: 'POST', url: users, status: 201, body, resourceType });
    },
    inviteUser: () =>
      Promise.resolve({ method: 'POST', url: `${users}/invite`, status: 201, body: newPerson(), resourceType }),
    resendInvitation: async () => {
      const resourceId = await newUser();
      return { method: 'POST', url: `${users}/${resourceId}/invite`, status: 200, resourceType, resourceId };
    },
    updateProfile: () => {
      const [url, body] = ['/api/v1/secure/profile', { ...fields, phone: '+43660123456' }];
      const person = { resourceType, resourceId: tenant.admin.userId };
      return Promise.resolve({ method: 'PATCH', url, status: 200, body, fields: Object.keys(body), ...person });
    },
    updateUser: async () => {
      const resourceId = await newUser();
      const change = { body: fields, fields: Object.keys(fields) };
      return { method: 'PATCH', url: `${users}/${resourceId}`, status: 200, resourceType, resourceId, ...change };
    },
    deleteUser: async () => {
      const resourceId = await newUser();
      return { method: 'DELETE', url: `${users}/${resourceId}`, status: 204, resourceType, resourceId };
    },
  };
}
