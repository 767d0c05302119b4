import type { Principal } from '#core/base/access/principal';
import { PermissionsAboveOwn } from '#core/base/errors/common-errors';

/**
 * No user grants, changes or revokes what they do not hold themselves; tenant administrators hold everything.
 * @throws PermissionsAboveOwn with the names of what is missing
 */
export function assertHolds(caller: Principal, permissions: readonly string[]): void {
  if (caller.isTenantAdmin) return;
  const missing = permissions.filter((permission) => !caller.permissions.has(permission));
  if (missing.length > 0) throw PermissionsAboveOwn({ details: { missing } });
}
