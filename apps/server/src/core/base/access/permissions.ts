/** Permissions that a group may hold within its tenant. Tenant administrators hold all of them. */
export const permissions = {
  'api_keys.read': 'See the API keys of the tenant and what they were used for',
  'api_keys.manage': 'Create, change, rotate and delete API keys',
  'app_accounts.read': 'See the app accounts of the tenant and what they were used for',
  'app_accounts.manage': 'Create, change and delete app accounts, and set their passwords',
  'audit_logs.read': 'Read the audit trail of the tenant',
  'authorization.read': 'Ask why a user can or cannot call an operation',
  'categories.link': 'Put spaces, resources, groups and the tenant into categories, and take them out',
  'calendar.manage': 'Change the events of others, and book other people',
  'feedbacks.read': 'Read what people say about spaces and resources',
  'feedbacks.manage': 'Set how far feedback has been dealt with',
  'files.manage': 'Rename, attach and delete files that others have uploaded',
  'flow_tasks.read': 'See the flow tasks of the tenant and what people did about them',
  'flow_tasks.manage': 'Create, change, order, reset and delete flow tasks',
  'groups.read': 'See the groups of the tenant and their members',
  'groups.manage': 'Create, change and delete groups, and who is in them',
  'integrations.read': 'See what outside providers were called for, and the models they offer',
  'integrations.manage': 'Decide which operations the tenant uses, through which providers and how much',
  'notifications.manage': 'Notify people, decide what they get by default, and see what reached them',
  'providers.read': 'See the connectors of the tenant and how they are',
  'providers.manage': 'Create, change and delete connectors',
  'resources.manage': 'Create, change and delete resources and QR codes',
  'spaces.manage': 'Create, change and delete spaces',
  'tags.manage': 'Create, change and delete tags',
  'translations.manage': 'Have many records translated at once',
  'type_definitions.manage': 'Create, change and delete types of spaces and resources',
  'users.read': 'See the users of the tenant',
  'users.manage': 'Invite, create, change and delete users of the tenant',
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as [Permission, ...Permission[]];
