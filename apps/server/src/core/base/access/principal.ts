import type { Flag } from '#core/base/access/flags';

type Common = {
  /** Id of the user, API key or app account. */
  readonly id: string;
  /** The tenant whose data the call touches. */
  readonly tenantId: string;
  /** The tenant that the credential belongs to; another one only for a system administrator who named it. */
  readonly homeTenantId: string;
};

/** What a session has to give first. */
export type MissingFactor = 'second_factor' | 'enrolment';

export type Person = Common & {
  readonly kind: 'user';
  readonly userId: string;
  readonly accountId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly isTenantAdmin: boolean;
  readonly isSystemAdmin: boolean;
  readonly permissions: ReadonlySet<string>;
  readonly missingFactor: MissingFactor | undefined;
  /** A second factor was given in this session. */
  readonly isAssured: boolean;
  /** False when a provider that one tenant configured vouched for the person: that counts for nothing beyond it. */
  readonly isAccountWide: boolean;
  readonly isExpired?: boolean;
};

type Machine = Common & {
  readonly userId: null;
  readonly name: string;
  readonly isTenantAdmin: false;
  readonly isSystemAdmin: false;
  readonly permissions: ReadonlySet<string>;
  readonly flags: ReadonlySet<Flag>;
  /** Which properties of resources it sees and writes; undefined means all. */
  readonly properties: ReadonlySet<string> | undefined;
};

export type AppAccountPrincipal = Machine & {
  readonly kind: 'app_account';
  readonly sessionId: string;
  readonly email: string;
  readonly isExpired?: boolean;
};
export type ApiKeyPrincipal = Machine & {
  readonly kind: 'api_key';
  readonly mcpWriteEnabled: boolean;
  readonly restrictions: KeyRestrictions;
};

/** The addresses that may use a key, checked on every request. Undefined: all addresses. */
export type KeyRestrictions = {
  readonly allowsAddress: ((address: string) => boolean) | undefined;
  readonly deviceFingerprint: string | undefined;
};

/** The caller, as the database says at this moment; permissions never come from token claims. */
export type Principal = Person | AppAccountPrincipal | ApiKeyPrincipal;

/** A user or app account with a session. `isExpired`: the access token has expired, so it may end this session only. */
export type SessionPrincipal = Person | AppAccountPrincipal;

/** Facts about the request that audit rows and rate limits need. */
export type RequestFacts = {
  readonly id: string;
  /** Canonical client address; forwarded headers count only from trusted proxies. */
  readonly ip: string;
  readonly userAgent: string | null;
  /** When the whole request had arrived, in Unix milliseconds. */
  readonly receivedAt: number;
  /** Set where the operation is called as a tool. */
  readonly toolCall?: ToolCall;
};

/** The tool that is called, and the program that calls it if it names itself. */
export type ToolCall = { readonly tool: string; readonly client: ToolClient | null };

/** Name and version as an MCP client states them, bounded and without control characters. */
export type ToolClient = { readonly name: string; readonly version: string };

/** A principal together with the request it makes. */
export type Actor<Who extends Principal = Principal> = Who & { readonly request: RequestFacts };

/** Holds the system administrators; its administrators are the installation's. */
export const systemTenantId = '00000000-0000-7000-8000-000000000001';

/** An administrator of the system tenant. */
export function isSystemAdmin(user: { tenant_id: string; is_tenant_admin: boolean }): boolean {
  return user.tenant_id === systemTenantId && user.is_tenant_admin;
}

/** Whether a principal that was authenticated again lacks anything that it had before. */
export function hasLostPermissions(before: Principal, after: Principal | undefined): boolean {
  if (after === undefined || after.id !== before.id || after.tenantId !== before.tenantId) return true;
  if (isDemoted(before, after) || lacksAny(before.permissions, after.permissions)) return true;
  if (before.kind === 'user' || after.kind === 'user')
    return before.kind !== after.kind || lacksMoreFactors(before, after);
  return lacksAny(before.flags, after.flags) || seesLess(before, after);
}

function isDemoted(before: Principal, after: Principal): boolean {
  return (before.isTenantAdmin && !after.isTenantAdmin) || (before.isSystemAdmin && !after.isSystemAdmin);
}

function lacksMoreFactors(before: Principal, after: Principal): boolean {
  const missing = after.kind === 'user' ? after.missingFactor : undefined;
  return missing !== undefined && before.kind === 'user' && before.missingFactor !== missing;
}

/** Undefined stands for all properties. */
function seesLess({ properties: before }: Machine, { properties: after }: Machine): boolean {
  return after !== undefined && (before === undefined || lacksAny(before, after));
}

function lacksAny<Value>(before: ReadonlySet<Value>, after: ReadonlySet<Value>): boolean {
  return [...before].some((value) => !after.has(value));
}
