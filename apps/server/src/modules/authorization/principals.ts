import type { Access, CallerFacts } from '#core/base/access/access';
import { flagsOf } from '#core/base/access/flags';
import { isSystemAdmin } from '#core/base/access/principal';
import type { TenantDb } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { findActiveFactor, missingAssurance } from '#modules/auth/index';
import {
  findApiKey,
  findAppAccount,
  findGroup,
  findTenant,
  findUser,
  listGroupsOfUser,
  type ApiKeyRow,
  type AppAccountRow,
  type GroupRow,
  type TenantRow,
  type UserRow,
} from '#modules/authorization/authorization.queries';
import type { ExplainBody, Grant } from '#modules/authorization/authorization.schemas';

/** A principal in the state that a request would find now. */
export type Subject = {
  principal: { type: ExplainBody['principal']['type']; id: string; name: string; status: string };
  /** The principal that the authenticator would return for a session or key. */
  caller: CallerFacts;
  /** Reason why its sessions or keys do not work; undefined if they do. */
  inactive: string | undefined;
  grants: (rule: Access) => Grant[];
  notes: string[];
};

type Scope = { db: TenantDb; services: Pick<Services, 'database' | 'now'> };

/** Undefined if the principal does not exist in the tenant. */
export function findSubject(scope: Scope, { type, id }: ExplainBody['principal']): Promise<Subject | undefined> {
  switch (type) {
    case 'user':
      return findPerson(scope, id);
    case 'group':
      return findMembersOf(scope, id);
    case 'api_key':
      return findKey(scope, id);
    case 'app_account':
      return findApp(scope, id);
  }
}

async function findPerson({ db, services }: Scope, id: string): Promise<Subject | undefined> {
  const { tenantId } = db;
  const [[user], groups, [tenant]] = await db.batch([
    findUser({ tenantId, id }),
    listGroupsOfUser({ tenantId, id }),
    findTenant({ tenantId }),
  ]);
  if (user === undefined) return undefined;
  const factors = await services.database.credential().all(findActiveFactor({ accountId: user.account_id }));
  const factor = { hasFactor: factors.length > 0, at: services.now(), requiredFrom: tenant!.two_factor_required_from };
  const isSystem = isSystemAdmin({ tenant_id: tenantId, is_tenant_admin: user.is_tenant_admin });
  return {
    principal: { type: 'user', id: user.id, name: user.display_name, status: user.status },
    caller: {
      kind: 'user',
      isTenantAdmin: user.is_tenant_admin,
      isSystemAdmin: isSystem,
      permissions: new Set(groups.flatMap((group) => group.permissions)),
      // An existing factor counts as verified: assurance belongs to a session and not to the user.
      missingFactor: missingAssurance({ ...factor, isAssured: factor.hasFactor }),
      isAccountWide: true,
    },
    inactive: inactivePerson(user) ?? inactiveTenant(tenant!),
    grants: (rule) => [...administration(rule, user.is_tenant_admin, isSystem), ...grantsOf(rule, groups)],
    notes: [...factorNotes(factor), ...(isSystem ? [systemAdminNote] : [])],
  };
}

const systemAdminNote = 'A system administrator may also act in another tenant by naming it in X-Tenant-Id.';

async function findMembersOf({ db }: Scope, id: string): Promise<Subject | undefined> {
  const { tenantId } = db;
  const [[group], [tenant]] = await db.batch([findGroup({ tenantId, id }), findTenant({ tenantId })]);
  if (group === undefined) return undefined;
  const isRequired = tenant!.two_factor_required_from !== null;
  return {
    principal: { type: 'group', id: group.id, name: group.name, status: 'active' },
    caller: {
      kind: 'user',
      isTenantAdmin: false,
      isSystemAdmin: false,
      permissions: new Set(group.permissions),
      missingFactor: undefined,
      isAccountWide: true,
    },
    inactive: inactiveTenant(tenant!),
    grants: (rule) => grantsOf(rule, [group]),
    notes: [
      'The answer is about a user who is in this group only.',
      ...(isRequired ? ['The tenant requires a second factor from its users.'] : []),
    ],
  };
}

async function findKey({ db, services }: Scope, id: string): Promise<Subject | undefined> {
  const { tenantId } = db;
  const [[key], [tenant]] = await db.batch([findApiKey({ tenantId, id }), findTenant({ tenantId })]);
  if (key === undefined) return undefined;
  const status = key.enabled ? (isPast(key.expires_at, services.now()) ? 'expired' : 'active') : 'disabled';
  return {
    principal: { type: 'api_key', id: key.id, name: key.name, status },
    caller: { kind: 'api_key', flags: flagsOf(key.permissions) },
    inactive: status === 'active' ? inactiveTenant(tenant!) : `the key is ${status}`,
    grants: (rule) => flagGrants(rule, key),
    notes: [...keyNotes(key), ...machineNotes('key', key)],
  };
}

async function findApp({ db, services }: Scope, id: string): Promise<Subject | undefined> {
  const { tenantId } = db;
  const [[account], [tenant]] = await db.batch([findAppAccount({ tenantId, id }), findTenant({ tenantId })]);
  if (account === undefined) return undefined;
  const isExpired = account.status === 'active' && isPast(account.expires_at, services.now());
  const status = isExpired ? 'expired' : account.status;
  return {
    principal: { type: 'app_account', id: account.id, name: account.name, status },
    caller: { kind: 'app_account', flags: flagsOf(account.permissions) },
    inactive: status === 'active' ? inactiveTenant(tenant!) : `the app account is ${status}`,
    grants: (rule) => flagGrants(rule, account),
    notes: machineNotes('app account', account),
  };
}

function isPast(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
}

function inactivePerson({ status }: UserRow): string | undefined {
  if (status === 'active') return undefined;
  return status === 'invited' ? 'the person has not accepted the invitation yet' : `the person is ${status}`;
}

function inactiveTenant({ status }: TenantRow): string | undefined {
  return status === 'active' ? undefined : `the tenant is ${status.replaceAll('_', ' ')}`;
}

function administration(rule: Access, isTenantAdmin: boolean, isSystem: boolean): Grant[] {
  if (rule.kind === 'systemAdmin') return isSystem ? [{ source: 'system_administrator' }] : [];
  const counts = rule.kind === 'permission' || rule.kind === 'tenantAdmin';
  return counts && isTenantAdmin ? [{ source: 'tenant_administrator' }] : [];
}

function grantsOf(rule: Access, groups: readonly GroupRow[]): Grant[] {
  if (rule.kind !== 'permission') return [];
  const { permission } = rule;
  return groups
    .filter((group) => group.permissions.includes(permission))
    .map(({ id, name }) => ({ source: 'group', id, name, permission }));
}

type Flagged = Pick<ApiKeyRow | AppAccountRow, 'permissions' | 'expires_at'>;

function flagGrants(rule: Access, { permissions }: Flagged): Grant[] {
  if (rule.kind !== 'permission' && rule.kind !== 'member') return [];
  const held = flagsOf(permissions);
  return (rule.flags ?? []).filter((flag) => held.has(flag)).map((flag) => ({ source: 'flag', flag }));
}

type Factor = { hasFactor: boolean; requiredFrom: string | null; at: Date };

function factorNotes({ hasFactor, requiredFrom, at }: Factor): string[] {
  if (hasFactor) return ['Each session of this user must verify a second factor first.'];
  if (requiredFrom === null) return [];
  return isPast(requiredFrom, at)
    ? ['The tenant requires a second factor, which this user has not enabled.']
    : [`The tenant will require a second factor at ${requiredFrom}, which this user has not enabled.`];
}

function keyNotes({ ip_whitelist: addresses, device_fingerprint: fingerprint }: ApiKeyRow): string[] {
  return [
    ...((addresses ?? []).length > 0 ? ['The key is restricted to certain client addresses.'] : []),
    ...(fingerprint === null ? [] : ['The key requires its device fingerprint in X-Device-Fingerprint.']),
  ];
}

function machineNotes(what: string, { permissions, expires_at: expiresAt }: Flagged): string[] {
  const properties = permissions.resources?.properties ?? [];
  return [
    ...(expiresAt === null ? [] : [`The ${what} expires at ${expiresAt}.`]),
    ...(properties.length > 0
      ? [`The ${what} reads and writes only these properties of resources: ${properties.join(', ')}.`]
      : []),
  ];
}
