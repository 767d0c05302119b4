import type { Route } from '#core/http/route';

export type AuditAction = { action: string; resource_type: string; description: string };

/** What is done to something else than the action is named after; `auth.` and `two_factor.` are about accounts. */
const resourceTypes: Readonly<Record<string, string | readonly string[]>> = {
  'auth.login': 'session',
  'auth.logout': 'session',
  'auth.refresh_replayed': 'session',
  'auth.session_revoked': 'session',
  'category.linked': 'category_link',
  'category.unlinked': 'category_link',
  'group.member_added': 'user',
  'group.member_removed': 'user',
  'mcp.tool_called': 'tool',
  'profile.updated': 'user',
  'storage.updated': 'tenant',
  'translation.entity_translated': ['category', 'resource', 'space', 'tag'],
  'two_factor.reset': 'user',
  'two_factor.verified': 'session',
};

/** What no operation is declared to do: it happens beside what was asked for, or nobody asked. */
const elsewhere: Readonly<Record<string, string>> = {
  'auth.login_failed': 'Somebody tried to log in and was refused',
  'auth.password_change_failed': 'Somebody tried to change the password without knowing the present one',
  'auth.refresh_replayed': 'A refresh token was used twice, which ended its session',
  'mcp.tool_called': 'A program called a tool for somebody; whatever came of it, and beside what the operation records',
  'tenant.purged': 'What was left of a deleted tenant was removed for good',
  'translation_job.batch_written': 'A translation of many records has written texts of some of them',
  'two_factor.enabled': 'The first code of a second factor fitted, so that it is asked for from now on',
  'two_factor.failed': 'A code of the second factor was wrong',
};

/** All actions that the trail knows, in alphabetical order; what is done to several kinds stands there once for each. */
export function listActions(routes: readonly Route[]): AuditAction[] {
  const described = new Map(Object.entries(elsewhere));
  for (const { audit, summary } of routes) {
    if (typeof audit === 'string' && !described.has(audit)) described.set(audit, summary);
  }
  return [...described]
    .flatMap(([action, description]) =>
      [resourceTypesOf(action)].flat().map((type) => ({ action, resource_type: type, description })),
    )
    .toSorted((left, right) => (left.action < right.action ? -1 : 1));
}

function resourceTypesOf(action: string): string | readonly string[] {
  const [subject] = action.split('.') as [string];
  if (subject.endsWith('_contact')) return 'contact_link';
  return resourceTypes[action] ?? (subject === 'auth' || subject === 'two_factor' ? 'account' : subject);
}
