import { auditEvent } from '#core/audit/audit.queries';
import { systemTenantId, type RequestFacts } from '#core/access/principal';
import { newSecret } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Services } from '#core/services';
import {
  findAccountByEmail,
  findOneTimeToken,
  insertOneTimeToken,
  listMemberships,
  lockAccount,
  storePasswordHash,
  useOneTimeToken,
  type LoginAccount,
  type TenantChoice,
} from '#modules/auth/accounts.queries';
import { LoginRefused, OneTimeTokenRefused, TooManyFailures } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { normaliseEmail } from '#modules/auth/email-address';
import type { LoginBody, SelectTenantBody } from '#modules/auth/auth.schemas';
import { startSession, type StartedSession } from '#modules/auth/session-start';
import { openPasswordHash, sealPassword } from '#modules/auth/stored-password';
import { loginAttempt, type Attempt } from '#modules/auth/throttle';

export type TenantSelection = {
  requiresTenantSelection: true;
  tenants: TenantChoice[];
  selectionToken: string;
  message: string;
};

const selectionMs = 5 * 60_000;

type ProvenAccount = LoginAccount & {
  attempt: Attempt;
  /** What the password, while it is known, lets us write better than it is stored. */
  renewal: readonly Query<never>[];
};

/**
 * Proves the password, then starts a session, or lists the tenants when the person has several and named none.
 * @throws LoginRefused with one text for every reason; TooManyFailures.
 */
export async function login(
  services: Services,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection> {
  const account = await provePassword(services, body, request);
  return (await enter(services, account, body, request)) ?? refuse(services, account.id, request);
}

async function enter(
  services: Services,
  account: ProvenAccount,
  body: LoginBody,
  request: RequestFacts,
): Promise<StartedSession | TenantSelection | undefined> {
  const remembered = body.rememberMe ?? false;
  const chosen = chooseTenant(account.tenants, body.tenantId);
  if (chosen === undefined) return undefined;
  if (chosen === 'several') return offerTenants(services, account, remembered);
  return startSession(services, {
    accountId: account.id,
    tenantId: chosen.id,
    remembered,
    request,
    proof: [proofOf(account)],
    also: [...account.attempt.refund(), ...account.renewal],
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
    tenantId: body.tenantId.toLowerCase(),
    remembered: token.payload.remembered === true,
    request,
    // The account first, as everywhere: two that lock in different orders would block each other.
    proof: [lockAccount({ accountId: token.account_id, provenAt: null }), useOneTimeToken(params)],
    also: [],
  });
  if (started === undefined) throw OneTimeTokenRefused();
  return started;
}

async function provePassword(services: Services, body: LoginBody, request: RequestFacts): Promise<ProvenAccount> {
  const email = normaliseEmail(body.email);
  const account = await services.database.credential().first(findAccountByEmail({ email }));
  const attempt = loginAttempt(services, email, request.ip, TooManyFailures);
  const stored = account === undefined ? undefined : openPasswordHash(services, account.id, account.password_hash);
  const matches = await services.passwords.verify(body.password, stored, () => attempt.admit());
  if (account !== undefined && stored !== undefined && matches) {
    const isCurrent = services.passwords.isCurrent(stored);
    return { ...account, attempt, renewal: isCurrent ? [] : [await renewHash(services, account.id, body.password)] };
  }
  return refuse(services, account?.id, request);
}

async function renewHash(services: Services, accountId: string, password: string): Promise<Query<never>> {
  return storePasswordHash({ accountId, passwordHash: await sealPassword(services, accountId, password) });
}

function chooseTenant(
  tenants: readonly TenantChoice[],
  wanted: string | undefined,
): TenantChoice | 'several' | undefined {
  if (wanted !== undefined) return tenants.find((tenant) => tenant.id === wanted.toLowerCase());
  return tenants.length > 1 ? 'several' : tenants[0];
}

async function offerTenants(
  services: Services,
  account: ProvenAccount,
  remembered: boolean,
): Promise<TenantSelection | undefined> {
  const selectionToken = newSecret();
  const now = services.now();
  const token = insertOneTimeToken({
    hash: oneTimeTokenHash(selectionToken)!,
    purpose: 'tenant_selection',
    accountId: account.id,
    payload: { remembered },
    at: now.toISOString(),
    expiresAt: new Date(now.getTime() + selectionMs).toISOString(),
  });
  const offered = await services.database.credential().transaction(async (tx) => {
    if ((await tx.first(proofOf(account))) === undefined) return false;
    await Promise.all([token, ...account.attempt.refund(), ...account.renewal].map((query) => tx.all(query)));
    return true;
  });
  if (!offered) return undefined;
  const message = 'You belong to several tenants: choose one.';
  return { requiresTenantSelection: true, tenants: account.tenants, selectionToken, message };
}

/** Holds as long as the password is the one that was proven. */
function proofOf(account: ProvenAccount): Query<{ id: string }> {
  return lockAccount({ accountId: account.id, provenAt: account.password_changed_at });
}

/** The same statements for unknown addresses, whose failures the system tenant records: nothing may answer sooner. */
async function refuse(services: Services, accountId: string | undefined, request: RequestFacts): Promise<never> {
  const nobody = '00000000-0000-0000-0000-000000000000';
  const memberships = await services.database.credential().all(listMemberships({ accountId: accountId ?? nobody }));
  services.log.warn({ requestId: request.id, ip: request.ip, known: accountId !== undefined }, 'login failed');
  const at = services.now().toISOString();
  const event = { action: 'auth.login_failed', resourceType: 'account' };
  const concerned = memberships.length > 0 ? memberships : [{ tenant_id: systemTenantId, user_id: null }];
  await Promise.all(
    concerned.map(({ tenant_id: tenantId, user_id: userId }) => {
      const row: Query<never> = auditEvent({ tenantId, userId, request }, at, event);
      return services.database.credential(tenantId).slow.flight([row]);
    }),
  );
  throw LoginRefused();
}
