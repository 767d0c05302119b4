import { unique } from '#test/support/factories';
import type { SampleContext, Successes } from '#test/support/samples';

const groups = '/api/v1/secure/groups';
const resourceType = 'group';
const fields = () => ({ name: unique('canary'), description: 'canary', permissions: ['users.read'] });

/** Successful calls of all recorded operations on groups and their members. */
export function groupSuccesses({ test, tenant, create }: SampleContext): Successes {
  const onNewGroup = async () => {
    const resourceId = await create(groups, fields());
    return { url: `${groups}/${resourceId}`, resourceType, resourceId };
  };
  const newUser = async () => {
    const resourceId = await create('/api/v1/secure/users', { email: `${unique('user')}@example.com` });
    return { resourceType: 'user', resourceId };
  };
  return {
    createGroup: () => Promise.resolve({ method: 'POST', url: groups, status: 201, body: fields(), resourceType }),
    updateGroup: async () => {
      const body = fields();
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewGroup()) };
    },
    deleteGroup: async () => ({ method: 'DELETE', status: 204, ...(await onNewGroup()) }),
    addGroupMember: async () => {
      const [group, user] = [await onNewGroup(), await newUser()];
      return { method: 'POST', url: `${group.url}/members`, status: 201, body: { userId: user.resourceId }, ...user };
    },
    removeGroupMember: async () => {
      const [group, user] = [await onNewGroup(), await newUser()];
      const url = `${group.url}/members`;
      await test.call('POST', url, { token: tenant.admin.token, body: { userId: user.resourceId } });
      return { method: 'DELETE', url: `${url}/${user.resourceId}`, status: 204, ...user };
    },
  };
}
