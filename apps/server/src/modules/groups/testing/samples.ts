import { groupSuccesses } from '#modules/groups/testing/successes';
import { unique } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

const groups = '/api/v1/secure/groups';

export const samples: Samples = {
  bodies: {
    createGroup: () => ({ name: unique('group'), description: 'Ground floor', permissions: ['users.read'] }),
    updateGroup: () => ({ name: unique('group'), description: null, permissions: [] }),
    addGroupMember: ({ tenant }) => ({ userId: tenant.admin.userId }),
  },
  ids: {
    'getGroup params.id': 'group',
    'updateGroup params.id': 'group',
    'deleteGroup params.id': 'group',
    'listGroupMembers params.id': 'group',
    'addGroupMember params.id': 'group',
    'addGroupMember body.userId': 'user',
    'removeGroupMember params.id': 'group',
    'removeGroupMember params.userId': 'user',
  },
  records: async ({ test, tenant, create, secret }) => {
    const group = await create(groups, { name: unique(secret) });
    const { token, userId } = tenant.admin;
    await test.call('POST', `${groups}/${group}/members`, { token, body: { userId } });
    return { group };
  },
  tools: ({ create }) => {
    const ofGroup = async () => ({ id: await create(groups, { name: unique('group'), permissions: [] }) });
    return {
      listGroups: () => Promise.resolve({}),
      getGroup: ofGroup,
      listGroupMembers: ofGroup,
    };
  },
  successes: groupSuccesses,
};
