import { defineModule } from '#core/http/route';
import { GroupNameTaken, MemberNotFound } from '#modules/groups/groups.errors';
import { groupRoutes } from '#modules/groups/groups.routes';

/** Groups of users, and the permissions that their members hold. */
export const groupsModule = defineModule({
  name: 'groups',
  description: 'Manage groups, their permissions and their members',
  constraints: { groups_name_key: GroupNameTaken, group_members_user: MemberNotFound },
  routes: groupRoutes,
});
