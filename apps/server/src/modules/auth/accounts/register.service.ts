import { addressFlow } from '#core/base/access/flows';
import type { RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import type { AppError } from '#core/base/errors/app-error';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Query } from '#core/data/db/query';
import { announceRevocation } from '#core/data/db/revocation';
import type { Services } from '#core/platform/services';
import {
  findAccountByAddress,
  insertAccount,
  insertMembership,
  insertTenant,
  insertTenantDomain,
  insertUser,
  listMemberships,
  lockAccount,
} from '#modules/auth/accounts/accounts.queries';
import { normaliseEmail } from '#modules/auth/accounts/email-address';
import { isReservedDomain } from '#modules/auth/accounts/reserved-domains';
import { clearAccount } from '#modules/auth/accounts/take-over';
import { renewAccount } from '#modules/auth/accounts/take-over.queries';
import { sendVerification } from '#modules/auth/accounts/verification.service';
import { DomainTaken, EmailTaken, TooManyRegistrations } from '#modules/auth/auth.errors';
import type { RegisterBody } from '#modules/auth/auth.schemas';
import { registrationAttempt } from '#modules/auth/login/rate-limits';
import { accountPlace, sealPassword } from '#modules/auth/passwords/stored-password';
import { cancelVoidMails } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'mail' | 'now' | 'passwords' | 'principals' | 'settings'
>;

/**
 * Creates a tenant and its first administrator. An account without a tenant starts again with no old data.
 * @throws EmailTaken, DomainTaken (also through the constraints of the tables), TooManyRegistrations
 */
export async function register(services: Dependencies, body: RegisterBody, request: RequestFacts) {
  await registrationAttempt(services, request.ip, TooManyRegistrations).admit();
  const email = normaliseEmail(body.email);
  const known = await services.database.credential().first(findAccountByAddress({ email }));
  const ids = { tenantId: newId(), accountId: known?.id ?? newId(), userId: newId() };
  const passwordHash = await sealPassword(
    services,
    accountPlace(ids.accountId),
    body.password,
    addressFlow(request.ip),
  );
  if (isReservedDomain(body.tenantDomain)) throw await reservedDomain(services, known?.id);
  const tenant: NewTenant = {
    ...ids,
    email,
    tenantName: body.tenantName,
    domain: body.tenantDomain,
    displayName: body.displayName ?? email.slice(0, email.indexOf('@')),
    locale: body.locale ?? 'en',
    request,
    at: services.now().toISOString(),
  };
  if (known === undefined) await createAccountAndTenant(services, tenant, passwordHash);
  else await renewAccountWithTenant(services, tenant, passwordHash);
  services.mail.wake();
  return {
    user: { id: ids.userId, email, tenantId: ids.tenantId },
    tenant: { id: ids.tenantId, name: body.tenantName, domain: body.tenantDomain },
    message: 'The tenant is ready. Log in to start.',
  };
}

/** The answer that an existing tenant with the domain would cause: the conflict of the address comes first. */
async function reservedDomain(services: Dependencies, accountId: string | undefined): Promise<AppError> {
  if (accountId === undefined) return DomainTaken();
  const memberships = await services.database.credential().all(listMemberships({ accountId }));
  return memberships.length > 0 ? EmailTaken() : DomainTaken();
}

async function createAccountAndTenant(services: Dependencies, tenant: NewTenant, passwordHash: string): Promise<void> {
  const { tenantId, accountId: id, email, at } = tenant;
  await services.database
    .credential(tenantId)
    .interactive.batch([
      insertAccount({ id, email, passwordHash, emailVerifiedAt: null, at }),
      ...sendVerification(services, tenant),
      ...newTenant(tenant),
    ]);
}

async function renewAccountWithTenant(services: Dependencies, tenant: NewTenant, passwordHash: string): Promise<void> {
  const { tenantId, accountId, at } = tenant;
  await services.database.credential(tenantId).transaction(async (tx) => {
    await tx.first(lockAccount({ accountId, provenAt: null }));
    // Suspended users count too, so that no one takes over their memberships.
    if ((await tx.all(listMemberships({ accountId }))).length > 0) throw EmailTaken();
    await clearAccount(tx, accountId, at);
    await tx.all(renewAccount({ accountId, passwordHash, at }));
    await tx.all(announceRevocation(`account:${accountId}`));
    for (const query of [...sendVerification(services, tenant), ...newTenant(tenant)]) await tx.all(query);
  });
  services.principals.forget(`account:${accountId}`);
  await cancelVoidMails(services, accountId);
}

export type NewTenant = {
  tenantId: string;
  accountId: string;
  userId: string;
  email: string;
  tenantName: string;
  domain: string;
  displayName: string;
  locale: string;
  request: RequestFacts;
  at: string;
};

/** The statements that create a tenant and its first administrator, without the account. */
export function newTenant(tenant: NewTenant): Query<unknown>[] {
  const { tenantId, accountId, userId, email, at } = tenant;
  return [
    insertTenantDomain({ domain: tenant.domain, tenantId }),
    insertTenant({ id: tenantId, name: tenant.tenantName, domain: tenant.domain, language: tenant.locale, at }),
    insertUser({
      tenantId,
      id: userId,
      accountId,
      email,
      displayName: tenant.displayName,
      fullName: tenant.displayName,
      locale: tenant.locale,
      isTenantAdmin: true,
      status: 'active',
      at,
    }),
    insertMembership({ accountId, tenantId, userId }),
    auditEvent({ tenantId, userId, request: tenant.request }, at, {
      action: 'tenant.created',
      resourceType: 'tenant',
      resourceId: tenantId,
    }),
  ];
}
