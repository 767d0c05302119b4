import type { Flag } from '#core/base/access/flags';
import type { Permission } from '#core/base/access/permissions';
import type { ApiKeyPrincipal, AppAccountPrincipal, Person, Principal } from '#core/base/access/principal';
import type { AppError } from '#core/base/errors/app-error';
import {
  AuthenticationRequired,
  NotPermitted,
  SecondFactorEnrolmentRequired,
  SecondFactorRequired,
  SessionOfOneTenant,
  ToolWritesDisabled,
} from '#core/base/errors/common-errors';

/** Any one of them lets an API key or an app account in. */
export type Flags = readonly [Flag, ...Flag[]];

/** The access rule of a route. Every route declares exactly one. */
export type Access =
  | { readonly kind: 'public'; readonly why: string }
  | { readonly kind: 'anyone'; readonly why: string }
  | { readonly kind: 'optional'; readonly why: string; readonly acceptsExpired: boolean }
  | { readonly kind: 'session'; readonly missingFactors: AllowedMissingFactors }
  | { readonly kind: 'person'; readonly missingFactors: AllowedMissingFactors }
  | { readonly kind: 'member'; readonly flags: Flags | undefined }
  | { readonly kind: 'permission'; readonly permission: Permission; readonly flags: Flags | undefined }
  | { readonly kind: 'tenantAdmin' }
  | { readonly kind: 'systemAdmin'; readonly orScraper: boolean }
  | { readonly kind: 'dispatcher'; readonly orSystemAdmin: boolean };

/** Which sessions that lack a required second factor may call: none, those that must enrol one, or all. */
type AllowedMissingFactors = 'none' | 'enrolling' | 'any';

export const access = {
  /** Anyone, without credentials. `why` is printed in the route table. */
  public: (why: string) => ({ kind: 'public', why }) as const,
  /**
   * Anyone, with credentials of any kind or without; dead and wrong ones are refused. What the caller may do is decided
   * within, for each operation that is called by way of this one.
   */
  anyone: (why: string) => ({ kind: 'anyone', why }) as const,
  /**
   * Anyone; a valid session is recognised, and a missing or invalid one is not refused. `acceptsExpired` also recognises a live
   * session by an expired access token: only for routes that end the session.
   */
  optional: (why: string, options: { acceptsExpired?: boolean } = {}) =>
    ({ kind: 'optional', why, acceptsExpired: options.acceptsExpired ?? false }) as const,
  /** Every session, of users and app accounts. */
  session: (options: { missingFactors?: AllowedMissingFactors } = {}) =>
    ({ kind: 'session', missingFactors: options.missingFactors ?? 'none' }) as const,
  /** People only, about their own account: what a provider of one tenant vouched for is not enough. */
  person: (options: { missingFactors?: AllowedMissingFactors } = {}) =>
    ({ kind: 'person', missingFactors: options.missingFactors ?? 'none' }) as const,
  /** Every person of the tenant; keys and app accounts with one of the flags, if there are any. */
  member,
  /** People whose groups hold the permission, and tenant administrators; keys and app accounts with one of the flags. */
  permission,
  /** Tenant administrators only; no group can hold it. */
  tenantAdmin: () => ({ kind: 'tenantAdmin' }) as const,
  /** System administrators only; works across tenants. `orScraper`: also a caller with METRICS_TOKEN, who is not an actor. */
  systemAdmin: (options: { orScraper?: boolean } = {}) =>
    ({ kind: 'systemAdmin', orScraper: options.orScraper ?? false }) as const,
  /** Callers with the secret of the dispatcher; no session, key or app account replaces it. */
  dispatcher: (options: { orSystemAdmin?: boolean } = {}) =>
    ({ kind: 'dispatcher', orSystemAdmin: options.orSystemAdmin ?? false }) as const,
};

function member(): { readonly kind: 'member'; readonly flags: undefined };
function member(...flags: Flags): { readonly kind: 'member'; readonly flags: Flags };
function member(...flags: Flag[]) {
  return { kind: 'member', flags: toFlags(flags) } as const;
}

type Permitted<Given> = { readonly kind: 'permission'; readonly permission: Permission; readonly flags: Given };

function permission(needed: Permission): Permitted<undefined>;
function permission(needed: Permission, ...flags: Flags): Permitted<Flags>;
function permission(needed: Permission, ...flags: Flag[]) {
  return { kind: 'permission', permission: needed, flags: toFlags(flags) } as const;
}

function toFlags([first, ...rest]: readonly Flag[]): Flags | undefined {
  return first === undefined ? undefined : [first, ...rest];
}

type PersonFacts = Pick<
  Person,
  'kind' | 'isTenantAdmin' | 'isSystemAdmin' | 'permissions' | 'missingFactor' | 'isAccountWide'
>;
type MachineFacts = Pick<AppAccountPrincipal | ApiKeyPrincipal, 'kind' | 'flags'>;

/** The facts of a principal that a decision uses. */
export type CallerFacts = PersonFacts | MachineFacts;

/** Why a call is allowed, or why it is not: the sentence is for people, the error for the refused request. */
export type Decision =
  | { readonly allowed: true; readonly because: string }
  | { readonly allowed: false; readonly because: string; readonly error: AppError };

/**
 * The one place that decides whether a caller may use a route, for people, API keys and app accounts alike.
 * A refusal is 401 without credentials, 403 without the permission.
 */
export function decide(rule: Access, principal: CallerFacts | undefined): Decision {
  if (rule.kind === 'public' || rule.kind === 'anyone') return allow(`every caller may: ${rule.why}`);
  if (rule.kind === 'optional') {
    return principal?.kind === 'api_key'
      ? refuse(rule, 'an API key has no session')
      : allow(`every caller may: ${rule.why}`);
  }
  if (rule.kind === 'dispatcher') return decideForDispatcher(rule, principal);
  if (principal === undefined)
    return { allowed: false, because: 'the caller is not authenticated', error: AuthenticationRequired() };
  return principal.kind === 'user' ? decideForPerson(rule, principal) : decideForMachine(rule, principal);
}

/** The same where the operation is called as a tool: an API key changes nothing by tools unless that was switched on. */
export function decideTool(rule: Access, principal: Principal | undefined, tool: { readOnly: boolean }): Decision {
  if (principal?.kind === 'api_key' && !principal.mcpWriteEnabled && !tool.readOnly)
    return { allowed: false, because: 'mcp_write_enabled of the API key is not set', error: ToolWritesDisabled() };
  return decide(rule, principal);
}

function decideForDispatcher(
  rule: Extract<Access, { kind: 'dispatcher' }>,
  principal: CallerFacts | undefined,
): Decision {
  if (
    rule.orSystemAdmin &&
    principal?.kind === 'user' &&
    principal.isSystemAdmin &&
    principal.missingFactor === undefined
  )
    return allow('the person is a system administrator');
  const because = 'only the secret of the dispatcher counts';
  return { allowed: false, because, error: AuthenticationRequired() };
}

type Guarded = Exclude<Access, { kind: 'public' | 'anyone' | 'optional' | 'dispatcher' }>;

function decideForPerson(rule: Guarded, person: PersonFacts): Decision {
  return refuseMissingFactor(rule, person) ?? decideByRule(rule, person);
}

/** Refuses a session that must first give, or enrol, a second factor. */
function refuseMissingFactor(rule: Guarded, { missingFactor }: PersonFacts): Decision | undefined {
  const allowed = 'missingFactors' in rule ? rule.missingFactors : 'none';
  if (missingFactor === 'second_factor' && allowed !== 'any')
    return { allowed: false, because: 'the session lacks its second factor', error: SecondFactorRequired() };
  if (missingFactor === 'enrolment' && allowed === 'none') {
    const because = 'the tenant requires a second factor and the person has none';
    return { allowed: false, because, error: SecondFactorEnrolmentRequired() };
  }
  return undefined;
}

function decideByRule(rule: Guarded, person: PersonFacts): Decision {
  switch (rule.kind) {
    case 'session':
      return allow('the person has a session');
    case 'person':
      return decideForOwnAccount(rule.missingFactors, person);
    case 'member':
      return allow('every person of the tenant may');
    case 'permission':
      return decideForPermission(rule, person);
    case 'tenantAdmin':
      return person.isTenantAdmin
        ? allow('the person is a tenant administrator')
        : refuse(rule, 'the person is not a tenant administrator');
    case 'systemAdmin':
      return person.isSystemAdmin
        ? allow('the person is a system administrator')
        : refuse(rule, 'the person is not a system administrator');
  }
}

function decideForOwnAccount(allowed: AllowedMissingFactors, { isAccountWide }: PersonFacts): Decision {
  // Routes open to a session without its second factor do not depend on the assurance of the provider.
  if (isAccountWide || allowed === 'any') return allow("it concerns the caller's account");
  const because = 'a provider of one tenant vouched for the session, which counts for that tenant only';
  return { allowed: false, because, error: SessionOfOneTenant() };
}

function decideForPermission(rule: Extract<Guarded, { kind: 'permission' }>, person: PersonFacts): Decision {
  if (person.isTenantAdmin) return allow('tenant administrators hold every permission');
  return person.permissions.has(rule.permission)
    ? allow(`a group of the person holds ${rule.permission}`)
    : refuse(rule, `no group of the person holds ${rule.permission}`);
}

function decideForMachine(rule: Guarded, machine: MachineFacts): Decision {
  const who = machine.kind === 'api_key' ? 'an API key' : 'an app account';
  if (rule.kind === 'session' && machine.kind === 'app_account') return allow('the app account has a session');
  if (rule.kind !== 'member' && rule.kind !== 'permission') return refuse(rule, `${who} never may`);
  if (rule.flags === undefined) return refuse(rule, `${who} never may: no flag stands for it`);
  const held = rule.flags.find((flag) => machine.flags.has(flag));
  return held === undefined
    ? refuse(rule, `the flag ${rule.flags.join(' or ')} is not set`)
    : allow(`the flag ${held} is set`);
}

function allow(because: string): Decision {
  return { allowed: true, because };
}

function refuse(rule: Access, because: string): Decision {
  return { allowed: false, because, error: NotPermitted({ details: { required: describeAccess(rule) } }) };
}

/** One short phrase for the route table, OpenAPI and refusals. */
export function describeAccess(rule: Access): string {
  if ('why' in rule) return `public: ${rule.why}`;
  switch (rule.kind) {
    case 'session':
      return `any session${describeMissingFactors(rule.missingFactors)}`;
    case 'person':
      return `a user, for their own account${describeMissingFactors(rule.missingFactors)}`;
    case 'member':
      return `member of the tenant${describeFlags(rule.flags)}`;
    case 'permission':
      return `permission ${rule.permission}${describeFlags(rule.flags)}`;
    case 'tenantAdmin':
      return 'tenant administrator';
    case 'systemAdmin':
      return rule.orScraper ? 'system administrator, or METRICS_TOKEN' : 'system administrator';
    case 'dispatcher':
      return `the dispatcher secret${rule.orSystemAdmin ? ', or a system administrator' : ''}`;
  }
}

function describeMissingFactors(allowed: AllowedMissingFactors): string {
  if (allowed === 'none') return '';
  return allowed === 'any' ? ', even before the second factor' : ', even before a required enrolment';
}

function describeFlags(flags: Flags | undefined): string {
  return flags === undefined ? '' : `; keys and app accounts: ${flags.join(' or ')}`;
}
