import { AuthenticationRequired, NotPermitted } from '#core/errors/common-errors';
import type { AppError } from '#core/errors/app-error';
import type { Permission } from '#core/access/permissions';
import type { Principal } from '#core/access/principal';

/** Who may call a route. Every route declares exactly one. */
export type Access =
  | { readonly kind: 'public'; readonly why: string }
  | { readonly kind: 'optional'; readonly why: string }
  | { readonly kind: 'session' }
  | { readonly kind: 'member' }
  | { readonly kind: 'permission'; readonly permission: Permission }
  | { readonly kind: 'tenantAdmin' }
  | { readonly kind: 'systemAdmin' };

export const access = {
  /** Anyone, without credentials. `why` is printed in the route table. */
  public: (why: string) => ({ kind: 'public', why }) as const,
  /** Anyone; a valid session is recognised, a missing or dead one is no reason to refuse. */
  optional: (why: string) => ({ kind: 'optional', why }) as const,
  /** Whoever has a session, even one that still owes its second factor. */
  session: () => ({ kind: 'session' }) as const,
  /** Every person of the tenant. */
  member: () => ({ kind: 'member' }) as const,
  /** People whose groups hold the permission, and tenant administrators. */
  permission: (permission: Permission) => ({ kind: 'permission', permission }) as const,
  /** Tenant administrators only; no group can hold it. */
  tenantAdmin: () => ({ kind: 'tenantAdmin' }) as const,
  /** System administrators only; works across tenants. */
  systemAdmin: () => ({ kind: 'systemAdmin' }) as const,
};

/**
 * The one place that decides whether a caller may use a route.
 * @returns undefined when the call is allowed, else the refusal (401 without credentials, 403 without the right).
 */
export function refusal(rule: Access, principal: Principal | undefined): AppError | undefined {
  if (rule.kind === 'public' || rule.kind === 'optional') return undefined;
  if (principal === undefined) return AuthenticationRequired();
  return isAllowed(rule, principal) ? undefined : NotPermitted({ details: { required: describeAccess(rule) } });
}

function isAllowed(rule: Exclude<Access, { kind: 'public' | 'optional' }>, principal: Principal): boolean {
  switch (rule.kind) {
    case 'session':
    case 'member':
      return true;
    case 'permission':
      return principal.isTenantAdmin || principal.permissions.has(rule.permission);
    case 'tenantAdmin':
      return principal.isTenantAdmin;
    case 'systemAdmin':
      return principal.isSystemAdmin;
  }
}

/** One short phrase for the route table, OpenAPI and refusals. */
export function describeAccess(rule: Access): string {
  switch (rule.kind) {
    case 'public':
    case 'optional':
      return `public: ${rule.why}`;
    case 'session':
      return 'any session';
    case 'member':
      return 'member of the tenant';
    case 'permission':
      return `permission ${rule.permission}`;
    case 'tenantAdmin':
      return 'tenant administrator';
    case 'systemAdmin':
      return 'system administrator';
  }
}
