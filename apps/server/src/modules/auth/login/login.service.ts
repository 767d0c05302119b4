import { flagsOf } from '#core/base/access/flags';
import { addressFlow } from '#core/base/access/flows';
import { systemTenantId, type RequestFacts } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import { nilId } from '#core/data/db/nil-id';
import type { Query } from '#core/data/db/query';
import type { LimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Services } from '#core/platform/services';
import {
  findAccountByEmail,
  findAppAccountLogin,
  findMembership,
  findOneTimeToken,
  listMemberships,
  lockAccount,
  lockAppAccountPassword,
  storeAppAccountPasswordHash,
  storePasswordHash,
  useOneTimeToken,
  type AppAccountLogin,
  type LoginAccount,
  type TenantChoice,
} from '#modules/auth/accounts/accounts.queries';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import { findOpenTenants } from '#modules/auth/accounts/own-tenants.service';
import { LoginRefused, OneTimeTokenRefused, TooManyFailures } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import type { LoginBody, SelectTenantBody } from '#modules/auth/auth.schemas';
import { loginAttempt } from '#modules/auth/login/rate-limits';
import { accountPlace, appAccountPlace, openPasswordHash, sealPassword } from '#modules/auth/passwords/stored-password';
import { findKnownOrigin } from '#modules/auth/sessions/known-logins';
import {
  appAccountActor,
  startAppAccountSession,
  startSession,
  type SessionRequest,
  type StartedSession,
} from '#modules/auth/sessions/session-start';
import { newOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'now' | 'passwords' | 'principals' | 'queue' | 'securityEvents' | 'tokens'
>;

export type TenantSelection = {
  requiresTenantSelection: true;
  tenants: TenantChoice[];
  selectionToken: string;
  message: string;
};

const selectionMs = 5 * 60_000;

type Proof = {
  attempt: LimitedAttempt;
  /** Statements that renew the stored hash while the password is known. */
  renewal: readonly Query<never>[];
};
type ProvenAccount = LoginAccount & Proof;

/**
 * Verifies the password, then starts a session, or lists the tenants if the account has several and the request named
 * none. App accounts also log in here, to the tenant in the request.
 * @throws LoginRefused with one text for every reason; TooManyFailures.
 */
export async function login(
  services: Dependencies,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection> {
  const meant = await findMeant(services, body);
  const proven = await prove(services, meant, { password: body.password, tenantId: body.tenantId, request });
  const started = proven === undefined ? undefined : await enterAs(services, proven, body, request);
  return started ?? refuse(services, meant, request);
}

/** The holder of the password to compare. */
type Candidate =
  | { kind: 'account'; place: string; login: LoginAccount }
  | { kind: 'app_account'; place: string; login: AppAccountLogin };

type Proven = Candidate & { proof: Proof };

const noAccount = nilId;

type Meant = {
  email: string;
  /** The account of the address. */
  accountId: string | undefined;
  /** Undefined if the address cannot log in at all. */
  candidate: Candidate | undefined;
};

/**
 * Exactly one password decides. Without a tenant it is the password of the account. With a tenant it is that of the
 * account with a user there, otherwise that of the tenant's app account. An app account thus does not permit guesses at
 * the password of the account with its address.
 */
async function findMeant(services: Dependencies, { email: address, tenantId }: LoginBody): Promise<Meant> {
  const email = normaliseEmail(address);
  const account = await services.database.credential().first(findAccountByEmail({ email }));
  const accountId = account?.id;
  const person = account && ({ kind: 'account', place: accountPlace(account.id), login: account } as const);
  if (tenantId === undefined) return { email, accountId, candidate: person };
  // Both are always read, so that the response time reveals nothing.
  const [[membership], [appAccount]] = await services.database
    .credential(tenantId)
    .batch([
      findMembership({ accountId: accountId ?? noAccount, tenantId }),
      findAppAccountLogin({ tenantId, email, now: services.now().toISOString() }),
    ]);
  if (membership !== undefined) return { email, accountId, candidate: person };
  if (appAccount === undefined) return { email, accountId, candidate: undefined };
  const place = appAccountPlace(appAccount.id);
  return { email, accountId, candidate: { kind: 'app_account', place, login: appAccount } };
}

function enterAs(
  services: Dependencies,
  { kind, login: holder, proof }: Proven,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection | undefined> {
  return kind === 'app_account'
    ? enterAsAppAccount(services, { ...holder, ...proof }, body, request)
    : enter(services, { ...holder, ...proof }, body, request);
}

async function enter(
  services: Dependencies,
  account: ProvenAccount,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection | undefined> {
  const remembered = body.rememberMe ?? false;
  // Read only after the password is verified: earlier, the response time would reveal whether an account exists.
  const isOpen = body.tenantId === undefined && account.tenants.length > 1;
  const tenants = isOpen ? await findOpenTenants(services, account.id) : account.tenants;
  const chosen = chooseTenant(tenants, body.tenantId);
  if (chosen === undefined) return undefined;
  if (chosen === 'several')
    return offerTenants(services, {
      accountId: account.id,
      tenants,
      remembered,
      proof: [proofOf(account)],
      also: [...account.attempt.refund(), ...account.renewal],
    });
  return startSession(services, {
    accountId: account.id,
    tenantId: chosen.id,
    remembered,
    request,
    proof: [proofOf(account)],
    also: [...account.attempt.refund(), ...account.renewal],
  });
}

function enterAsAppAccount(
  services: Dependencies,
  account: AppAccountLogin & Proof,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | undefined> {
  const { id, tenant_id: tenantId } = account;
  return startAppAccountSession(services, {
    accountId: id,
    tenantId,
    remembered: body.rememberMe ?? false,
    request,
    proof: [lockAppAccountPassword({ tenantId, id, provenAt: account.password_changed_at! })],
    also: [...account.attempt.refund(), ...account.renewal],
    name: account.name,
    email: account.email,
    tenantName: account.tenant_name,
    flags: [...flagsOf(account.permissions)],
  });
}

/** @throws OneTimeTokenRefused when the token is used, expired or not for this tenant. */
export async function selectTenant(
  services: Dependencies,
  body: SelectTenantBody,
  request: RequestFacts,
): Promise<StartedSession> {
  const hash = oneTimeTokenHash(body.selectionToken);
  if (hash === undefined) throw OneTimeTokenRefused();
  const params = { hash, purpose: 'tenant_selection', now: services.now().toISOString() } as const;
  const token = await services.database
    .credential()
    .first(findOneTimeToken({ hash, purposes: ['tenant_selection'], now: params.now }));
  if (token === undefined) throw OneTimeTokenRefused();
  const started = await startSession(services, {
    accountId: token.account_id,
    tenantId: body.tenantId,
    remembered: token.payload.remembered === true,
    details: token.payload.details as Record<string, unknown> | undefined,
    request,
    // The account is locked first, as everywhere: different lock orders would deadlock.
    proof: [lockAccount({ accountId: token.account_id, provenAt: null }), useOneTimeToken(params)],
    also: [],
  });
  if (started === undefined) throw OneTimeTokenRefused();
  return started;
}

/** One attempt and one hash in every case, so that the response time is the same without a stored password. */
async function prove(
  services: Dependencies,
  { email, accountId, candidate }: Meant,
  { password, tenantId, request }: { password: string; tenantId: string | undefined; request: RequestFacts },
): Promise<Proven | undefined> {
  const knownOrigin = await findKnownOrigin(services, accountId ?? noAccount, request);
  const target = candidate?.kind === 'app_account' ? { appAccountId: candidate.login.id } : { email, knownOrigin };
  const attempt = loginAttempt(services, target, request.ip, TooManyFailures);
  const stored = candidate && openPasswordHash(services, candidate.place, candidate.login.password_hash);
  const flow = addressFlow(request.ip, tenantId);
  const matches = await services.passwords.verify(password, stored, flow, () => attempt.admit());
  if (candidate === undefined || stored === undefined || !matches) return undefined;
  const renewal = services.passwords.isCurrent(stored) ? [] : [await renewHash(services, candidate, password, request)];
  return { ...candidate, proof: { attempt, renewal } };
}

async function renewHash(
  services: Dependencies,
  { kind, place, login: holder }: Candidate,
  password: string,
  { ip }: RequestFacts,
) {
  const passwordHash = await sealPassword(services, place, password, addressFlow(ip));
  return kind === 'account'
    ? storePasswordHash({ accountId: holder.id, passwordHash })
    : storeAppAccountPasswordHash({ tenantId: holder.tenant_id, id: holder.id, passwordHash });
}

function chooseTenant(
  tenants: readonly TenantChoice[],
  chosenId: string | undefined,
): TenantChoice | 'several' | undefined {
  if (chosenId !== undefined) return tenants.find((tenant) => tenant.id === chosenId);
  return tenants.length > 1 ? 'several' : tenants[0];
}

/** A verified login whose tenant is not chosen yet; `proof` and `also` as for a session. */
export type TenantOffer = Pick<SessionRequest, 'accountId' | 'remembered' | 'details' | 'proof' | 'also'> & {
  tenants: TenantChoice[];
};

/** @returns undefined if the proof does not hold */
export async function offerTenants(services: Dependencies, offer: TenantOffer): Promise<TenantSelection | undefined> {
  const { accountId, tenants, remembered, details } = offer;
  const { secret: selectionToken, insert } = newOneTimeToken(services, {
    purpose: 'tenant_selection',
    accountId,
    payload: { remembered, ...(details === undefined ? {} : { details }) },
    lifetimeMs: selectionMs,
  });
  const offered = await services.database.credential().transaction(async (tx) => {
    for (const query of offer.proof) if ((await tx.first(query)) === undefined) return false;
    await Promise.all([insert, ...offer.also].map((query) => tx.all(query)));
    return true;
  });
  if (!offered) return undefined;
  const message = 'You belong to several tenants. Choose one.';
  return { requiresTenantSelection: true, tenants, selectionToken, message };
}

/** Holds while the password is the verified one. */
function proofOf(account: ProvenAccount): Query<{ id: string }> {
  return lockAccount({ accountId: account.id, provenAt: account.password_changed_at });
}

/**
 * The same statements for unknown addresses, whose failures the system tenant records: response times must be equal.
 */
async function refuse(services: Dependencies, meant: Meant, request: RequestFacts): Promise<never> {
  const accountId = meant.accountId ?? noAccount;
  const memberships = await services.database.credential().all(listMemberships({ accountId }));
  const known = concernedBy(meant, memberships);
  services.log.warn({ requestId: request.id, ip: request.ip, known: known.length > 0 }, 'login failed');
  const at = services.now().toISOString();
  const event = { action: 'auth.login_failed', resourceType: 'account' };
  const concerned = known.length > 0 ? known : [{ tenantId: systemTenantId, userId: null }];
  await Promise.all(
    concerned.map((actor) => {
      const row: Query<never> = auditEvent({ ...actor, request }, at, event);
      return services.database.credential(actor.tenantId).interactive.batch([row]);
    }),
  );
  const { tenantId, userId } = known[0] ?? { tenantId: null, userId: null };
  const details = { ip: request.ip, requestId: request.id, tenants: known.length };
  services.securityEvents.record({ type: 'login_failed', tenantId, userId, details });
  throw LoginRefused();
}

/** The audit trails that record a failure: that of the intended app account, or those of all tenants of the account. */
function concernedBy(
  { candidate }: Meant,
  memberships: readonly { tenant_id: string; user_id: string }[],
): ({ tenantId: string; userId: string } | ReturnType<typeof appAccountActor>)[] {
  if (candidate?.kind === 'app_account') return [appAccountActor(candidate.login.tenant_id, candidate.login.id)];
  return memberships.map((member) => ({ tenantId: member.tenant_id, userId: member.user_id }));
}
