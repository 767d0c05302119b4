/** Named rights that a group may hold within its tenant. Tenant administrators hold all of them. */
export const permissions = {
  'audit_logs.read': 'Read the audit trail of the tenant',
  'groups.read': 'See the groups of the tenant and their members',
  'groups.manage': 'Create, change and delete groups, and who is in them',
  'spaces.manage': 'Create, change and delete spaces',
  'users.read': 'See the users of the tenant',
  'users.manage': 'Create, change and delete users of the tenant',
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as [Permission, ...Permission[]];
