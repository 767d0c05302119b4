import type { Route } from '#core/http/route';

export type AuditAction = { action: string; resource_type: string; description: string };

/** Actions whose record differs from their name; `auth.` and `two_factor.` are about accounts. */
const resourceTypes: Readonly<Record<string, string | readonly string[]>> = {
  'auth.account_disowned': 'user',
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

/** Actions that no operation declares: side effects of operations, or actions of the service itself. */
const undeclaredActions: Readonly<Record<string, string>> = {
  'auth.login_failed': 'A login was refused',
  'auth.password_change_failed': 'A password change with a wrong current password was refused',
  'auth.refresh_replayed': 'A refresh token was used twice, which ended its session',
  'mcp.tool_called': 'A client called a tool; recorded for every outcome, in addition to the action of the operation',
  'tenant.purged': 'A deleted tenant was purged',
  'translation_job.batch_written': 'A translation job wrote a batch of texts',
  'two_factor.enabled': 'A second factor was enabled by its first correct code',
  'two_factor.failed': 'A code of the second factor was wrong',
};

/** All actions of the audit trail in alphabetical order, once for each kind of record. */
export function listActions(routes: readonly Route[]): AuditAction[] {
  const described = new Map(Object.entries(undeclaredActions));
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
