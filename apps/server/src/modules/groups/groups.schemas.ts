import Type, { type Static } from 'typebox';

import { permissionNames } from '#core/base/access/permissions';
import { Email, Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Description = nullable(Type.String({ maxLength: 500 }));
const permissions = { description: 'Permissions that the members of the group hold.' };
const Permissions = Type.Array(Type.Enum(permissionNames), { uniqueItems: true, maxItems: 100, ...permissions });

export const CreateGroupBody = closed({
  name: Name,
  description: Type.Optional(Description),
  permissions: Type.Optional(Permissions),
});
export type CreateGroupBody = Static<typeof CreateGroupBody>;

export const UpdateGroupBody = closed({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  permissions: Type.Optional(Permissions),
});
export type UpdateGroupBody = Static<typeof UpdateGroupBody>;

const Group = closed(
  {
    id: Uuid,
    name: Type.String(),
    description: nullable(Type.String()),
    permissions: Type.Array(Type.String(), permissions),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Group' },
);

export const GroupAnswer = dataOf(Group);
export const GroupPage = pageOf(Group);

export const ListGroupsQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at']),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Words that must all occur in the name or the description.' }),
  ),
});
export type ListGroupsQuery = Static<typeof ListGroupsQuery>;

export const GroupMemberParams = closed({ id: Uuid, userId: Uuid });
export const AddGroupMemberBody = closed({ userId: Uuid });

const GroupMember = closed(
  {
    userId: Uuid,
    email: Email,
    displayName: Type.String(),
    status: Type.String({ description: 'Status of the user.' }),
    created_at: Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Time when the user joined the group (RFC 3339, UTC).',
    }),
  },
  { title: 'GroupMember' },
);

export const GroupMemberAnswer = dataOf(GroupMember);
export const GroupMemberPage = pageOf(GroupMember);
export const ListGroupMembersQuery = Type.Object(paging);
export type ListGroupMembersQuery = Static<typeof ListGroupMembersQuery>;
