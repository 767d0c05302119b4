import { auditEvent } from '#core/audit/audit.queries';
import type { RequestFacts } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import type { Services } from '#core/services';
import {
  insertAccount,
  insertMembership,
  insertTenant,
  insertTenantDomain,
  insertUser,
} from '#modules/auth/accounts.queries';
import { TooManyRegistrations } from '#modules/auth/auth.errors';
import { normaliseEmail } from '#modules/auth/email-address';
import type { RegisterBody } from '#modules/auth/auth.schemas';
import { sealPassword } from '#modules/auth/stored-password';
import { registrationAttempt } from '#modules/auth/throttle';

/**
 * A new tenant with its first user, who administers it.
 * @throws EmailTaken, DomainTaken (through the constraints of the tables), TooManyRegistrations
 */
export async function register(services: Services, body: RegisterBody, request: RequestFacts) {
  await registrationAttempt(services, request.ip, TooManyRegistrations).admit();
  const email = normaliseEmail(body.email);
  const ids = { tenantId: newId(), accountId: newId(), userId: newId() };
  const passwordHash = await sealPassword(services, ids.accountId, body.password);
  const at = services.now().toISOString();
  await createTenant(services, {
    ...ids,
    email,
    passwordHash,
    tenantName: body.tenantName,
    domain: body.tenantDomain,
    displayName: body.displayName ?? email.slice(0, email.indexOf('@')),
    locale: body.locale ?? 'en',
    request,
    at,
  });
  return {
    user: { id: ids.userId, email, tenantId: ids.tenantId },
    tenant: { id: ids.tenantId, name: body.tenantName, domain: body.tenantDomain },
    message: 'The tenant is ready. Log in to begin.',
  };
}

export type NewTenant = {
  tenantId: string;
  accountId: string;
  userId: string;
  email: string;
  passwordHash: string;
  tenantName: string;
  domain: string;
  displayName: string;
  locale: string;
  request: RequestFacts;
  at: string;
};

/** Tenant, domain, account, first administrator and audit row: all of them or none. */
export async function createTenant(services: Pick<Services, 'database'>, tenant: NewTenant): Promise<void> {
  const { tenantId, accountId, userId, email, at } = tenant;
  await services.database.credential(tenantId).slow.flight([
    insertAccount({ id: accountId, email, passwordHash: tenant.passwordHash, at }),
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
  ]);
}
