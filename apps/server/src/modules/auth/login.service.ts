import { auditEvent } from '#core/audit/audit.queries';
import type { RequestFacts } from '#core/access/principal';
import { newSecret } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Services } from '#core/services';
import {
  findAccountByEmail,
  insertOneTimeToken,
  listMemberships,
  useOneTimeToken,
  type TenantChoice,
} from '#modules/auth/accounts.queries';
import { LoginRefused, OneTimeTokenRefused, TooManyFailures } from '#modules/auth/auth.errors';
import { normaliseEmail, oneTimeTokenHash } from '#modules/auth/auth.rules';
import type { LoginBody, SelectTenantBody } from '#modules/auth/auth.schemas';
import { startSession, type StartedSession } from '#modules/auth/session-start';
import { openPasswordHash } from '#modules/auth/stored-password';
import { loginAttempt, type Attempt } from '#modules/auth/throttle';

export type TenantSelection = {
  requiresTenantSelection: true;
  tenants: TenantChoice[];
  selectionToken: string;
  message: string;
};

const selectionMs = 5 * 60_000;

type ProvenAccount = { id: string; tenants: TenantChoice[]; attempt: Attempt };

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
  const remembered = body.rememberMe ?? false;
  const chosen = chooseTenant(account.tenants, body.tenantId);
  if (chosen === 'several') return offerTenants(services, account, remembered);
  if (chosen === undefined) throw LoginRefused();
  return startSession(services, {
    accountId: account.id,
    tenantId: chosen.id,
    remembered,
    request,
    also: account.attempt.refund(),
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
  const token = await services.database
    .credential()
    .slow.first(useOneTimeToken({ hash, purpose: 'tenant_selection', now: services.now().toISOString() }));
  if (token === undefined) throw OneTimeTokenRefused();
  const remembered = token.payload.remembered === true;
  return startSession(services, {
    accountId: token.account_id,
    tenantId: body.tenantId,
    remembered,
    request,
    also: [],
  });
}

async function provePassword(services: Services, body: LoginBody, request: RequestFacts): Promise<ProvenAccount> {
  const email = normaliseEmail(body.email);
  const account = await services.database.credential().first(findAccountByEmail({ email }));
  const attempt = loginAttempt(services, email, request.ip, TooManyFailures);
  const stored = account === undefined ? undefined : openPasswordHash(services, account.id, account.password_hash);
  const matches = await services.passwords.verify(body.password, stored, () => attempt.admit());
  if (account !== undefined && matches) return { ...account, attempt };
  await recordFailure(services, account?.id, request);
  throw LoginRefused();
}

function chooseTenant(
  tenants: readonly TenantChoice[],
  wanted: string | undefined,
): TenantChoice | 'several' | undefined {
  if (wanted !== undefined) return tenants.find((tenant) => tenant.id === wanted.toLowerCase());
  return tenants.length > 1 ? 'several' : tenants[0];
}

async function offerTenants(services: Services, account: ProvenAccount, remembered: boolean): Promise<TenantSelection> {
  const selectionToken = newSecret();
  const now = services.now();
  await services.database.credential().slow.flight([
    insertOneTimeToken({
      hash: oneTimeTokenHash(selectionToken)!,
      purpose: 'tenant_selection',
      accountId: account.id,
      payload: { remembered },
      at: now.toISOString(),
      expiresAt: new Date(now.getTime() + selectionMs).toISOString(),
    }),
    ...account.attempt.refund(),
  ]);
  return {
    requiresTenantSelection: true,
    tenants: account.tenants,
    selectionToken,
    message: 'You belong to several tenants: choose one.',
  };
}

// The same number of round trips for unknown addresses: a missing account must not answer sooner.
async function recordFailure(services: Services, accountId: string | undefined, request: RequestFacts): Promise<void> {
  const nobody = '00000000-0000-0000-0000-000000000000';
  const memberships = await services.database.credential().all(listMemberships({ accountId: accountId ?? nobody }));
  services.log.warn({ requestId: request.id, ip: request.ip, known: accountId !== undefined }, 'login failed');
  const at = services.now().toISOString();
  const event = { action: 'auth.login_failed', resourceType: 'account' };
  await Promise.all(
    memberships.map(({ tenant_id: tenantId, user_id: userId }) => {
      const row: Query<never> = auditEvent({ tenantId, userId, request }, at, event);
      return services.database.credential(tenantId).flight([row]);
    }),
  );
}
