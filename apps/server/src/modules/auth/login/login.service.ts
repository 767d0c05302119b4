import { auditEvent } from '#core/audit/audit.queries';
import { flagsOf } from '#core/access/flags';
import { systemTenantId, type RequestFacts } from '#core/access/principal';
import type { Query } from '#core/db/query';
import type { Services } from '#core/services';
import {
  findAccountByEmail,
  findAppAccountLogin,
  findAppAccountPlace,
  findOneTimeToken,
  listMemberships,
  lockAccount,
  lockAppAccountPassword,
  storeAppAccountPasswordHash,
  storePasswordHash,
  useOneTimeToken,
  type AppAccountLogin,
  type AppAccountPlace,
  type LoginAccount,
  type TenantChoice,
} from '#modules/auth/accounts/accounts.queries';
import { LoginRefused, OneTimeTokenRefused, TooManyFailures } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { newOneTimeToken } from '#modules/auth/tokens/one-time-tokens';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import { findOpenTenants } from '#modules/auth/accounts/own-tenants.service';
import type { LoginBody, SelectTenantBody } from '#modules/auth/auth.schemas';
import {
  appAccountActor,
  startAppAccountSession,
  startSession,
  type SessionRequest,
  type StartedSession,
} from '#modules/auth/sessions/session-start';
import { accountPlace, appAccountPlace, openPasswordHash, sealPassword } from '#modules/auth/passwords/stored-password';
import type { Attempt } from '#core/throttle/throttle';
import { loginAttempt } from '#modules/auth/login/throttle';

export type TenantSelection = {
  requiresTenantSelection: true;
  tenants: TenantChoice[];
  selectionToken: string;
  message: string;
};

const selectionMs = 5 * 60_000;

type Proof = {
  attempt: Attempt;
  /** What the password, while it is known, lets us write better than it is stored. */
  renewal: readonly Query<never>[];
};
type ProvenAccount = LoginAccount & Proof;

/**
 * Proves the password, then starts a session, or lists the tenants when the person has several and named none.
 * App accounts log in here too.
 * @throws LoginRefused with one text for every reason; TooManyFailures.
 */
export async function login(
  services: Services,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection> {
  const email = normaliseEmail(body.email);
  const meant = await findMeant(services, email, body.tenantId);
  for await (const proven of provenBy(services, { email, password: body.password, ...meant }, request)) {
    const started =
      proven.kind === 'app_account'
        ? await enterAsAppAccount(services, { ...proven.login, ...proven.proof }, body, request)
        : await enter(services, { ...proven.login, ...proven.proof }, body, request);
    if (started !== undefined) return started;
  }
  return refuse(services, meant, request);
}

type Candidate =
  | { kind: 'account'; place: string; login: LoginAccount }
  | { kind: 'app_account'; place: string; login: AppAccountLogin };

const nobody = '00000000-0000-0000-0000-000000000000';

type Meant = {
  /** The tenant that was named. */
  tenantId: string | undefined;
  accountId: string | undefined;
  appAccount: AppAccountPlace | undefined;
  /** Whose password it may be, in the order in which they are asked. */
  candidates: readonly Candidate[];
};

/** An address may belong to a person and to an app account that somebody named after them: the person comes first. */
async function findMeant(services: Services, email: string, tenantId: string | undefined): Promise<Meant> {
  const [[account], [place]] = await services.database
    .credential()
    .flight([findAccountByEmail({ email }), findAppAccountPlace({ email })]);
  // Asked for unknown addresses too: the time of the answer does not tell what there is.
  const { tenant_id: home, app_account_id: id } = place ?? { tenant_id: systemTenantId, app_account_id: nobody };
  const found = findAppAccountLogin({ tenantId: home, id, now: services.now().toISOString() });
  const appAccount = await services.database.credential(home).first(found);
  const candidates: Candidate[] = [];
  if (account !== undefined) candidates.push({ kind: 'account', place: accountPlace(account.id), login: account });
  if (appAccount !== undefined && (tenantId === undefined || tenantId === home))
    candidates.push({ kind: 'app_account', place: appAccountPlace(appAccount.id), login: appAccount });
  return { tenantId, accountId: account?.id, appAccount: place, candidates };
}

async function enter(
  services: Services,
  account: ProvenAccount,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection | undefined> {
  const remembered = body.rememberMe ?? false;
  // Asked only now that the password is proven: before, the time of the answer would tell whether there is an account.
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
  services: Services,
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
  services: Services,
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
    // The account first, as everywhere: two that lock in different orders would block each other.
    proof: [lockAccount({ accountId: token.account_id, provenAt: null }), useOneTimeToken(params)],
    also: [],
  });
  if (started === undefined) throw OneTimeTokenRefused();
  return started;
}

/** Those of the candidates whose password it is: the next is tried only when the one before cannot get in. */
async function* provenBy(
  services: Services,
  { email, password, candidates }: { email: string; password: string; candidates: readonly Candidate[] },
  request: RequestFacts,
): AsyncGenerator<Candidate & { proof: Proof }> {
  const attempt = loginAttempt(services, email, request.ip, TooManyFailures);
  let admit: (() => Promise<void>) | undefined = () => attempt.admit();
  // Without a person a hash is compared all the same: no time tells whether there is one.
  const isPerson = candidates.some(({ kind }) => kind === 'account');
  for (const candidate of isPerson ? candidates : [undefined, ...candidates]) {
    const stored =
      candidate === undefined ? undefined : openPasswordHash(services, candidate.place, candidate.login.password_hash);
    const matches = await services.passwords.verify(password, stored, admit);
    // One attempt, however many the address may mean.
    admit = undefined;
    if (candidate === undefined || stored === undefined || !matches) continue;
    const renewal = services.passwords.isCurrent(stored) ? [] : [await renewHash(services, candidate, password)];
    yield { ...candidate, proof: { attempt, renewal } };
  }
}

async function renewHash(services: Services, { kind, place, login: who }: Candidate, password: string) {
  const passwordHash = await sealPassword(services, place, password);
  return kind === 'account'
    ? storePasswordHash({ accountId: who.id, passwordHash })
    : storeAppAccountPasswordHash({ tenantId: who.tenant_id, id: who.id, passwordHash });
}

function chooseTenant(
  tenants: readonly TenantChoice[],
  wanted: string | undefined,
): TenantChoice | 'several' | undefined {
  if (wanted !== undefined) return tenants.find((tenant) => tenant.id === wanted);
  return tenants.length > 1 ? 'several' : tenants[0];
}

/** A proven login whose tenant is still to be chosen; `proof` and `also` as for a session. */
export type TenantOffer = Pick<SessionRequest, 'accountId' | 'remembered' | 'details' | 'proof' | 'also'> & {
  tenants: TenantChoice[];
};

/** @returns undefined when the proof does not hold. */
export async function offerTenants(services: Services, offer: TenantOffer): Promise<TenantSelection | undefined> {
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
  const message = 'You belong to several tenants: choose one.';
  return { requiresTenantSelection: true, tenants, selectionToken, message };
}

/** Holds as long as the password is the one that was proven. */
function proofOf(account: ProvenAccount): Query<{ id: string }> {
  return lockAccount({ accountId: account.id, provenAt: account.password_changed_at });
}

/** The same statements for unknown addresses, whose failures the system tenant records: nothing may answer sooner. */
async function refuse(services: Services, meant: Meant, request: RequestFacts): Promise<never> {
  const accountId = meant.accountId ?? nobody;
  const memberships = await services.database.credential().all(listMemberships({ accountId }));
  const known = concernedBy(meant, memberships);
  services.log.warn({ requestId: request.id, ip: request.ip, known: known.length > 0 }, 'login failed');
  const at = services.now().toISOString();
  const event = { action: 'auth.login_failed', resourceType: 'account' };
  const concerned = known.length > 0 ? known : [{ tenantId: systemTenantId, userId: null }];
  await Promise.all(
    concerned.map((who) => {
      const row: Query<never> = auditEvent({ ...who, request }, at, event);
      return services.database.credential(who.tenantId).slow.flight([row]);
    }),
  );
  const { tenantId, userId } = known[0] ?? { tenantId: null, userId: null };
  const details = { ip: request.ip, requestId: request.id, tenants: known.length };
  services.securityEvents.record({ type: 'login_failed', tenantId, userId, details });
  throw LoginRefused();
}

function concernedBy(
  { tenantId, appAccount }: Meant,
  memberships: readonly { tenant_id: string; user_id: string }[],
): ({ tenantId: string; userId: string } | ReturnType<typeof appAccountActor>)[] {
  const people = memberships.map((member) => ({ tenantId: member.tenant_id, userId: member.user_id }));
  // Anybody may name an app account after a person: that alone does not let them watch the person fail.
  if (appAccount === undefined || (people.length > 0 && tenantId !== appAccount.tenant_id)) return people;
  return [...people, appAccountActor(appAccount.tenant_id, appAccount.app_account_id)];
}
