import { systemTenantId } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { newSecret } from '#core/crypto/secrets';
import type { Services } from '#core/services';
import { normaliseEmail } from '#modules/auth/email-address';
import { createTenant } from '#modules/auth/register.service';
import { findTenantStatus } from '#modules/auth/sessions.queries';
import { sealPassword } from '#modules/auth/stored-password';
import { violatedConstraint } from '#core/db/sql-state';

/**
 * Creates the system tenant with its first administrator, once in the life of an installation.
 * @returns the generated password when none was given; it is nowhere else to be read.
 */
export async function createFirstAdministrator(
  services: Pick<Services, 'database' | 'encryption' | 'passwords' | 'now'>,
  given: { email: string; password: string | undefined },
): Promise<{ generatedPassword: string } | undefined> {
  const known = await services.database.platform().first(findTenantStatus({ tenantId: systemTenantId }));
  if (known !== undefined) return undefined;
  const password = given.password ?? newSecret().slice(0, 24);
  const accountId = newId();
  const now = services.now();
  try {
    await createTenant(services, {
      tenantId: systemTenantId,
      accountId,
      userId: newId(),
      email: normaliseEmail(given.email),
      passwordHash: await sealPassword(services, accountId, password),
      tenantName: 'System',
      domain: 'system',
      displayName: 'System administrator',
      locale: 'en',
      request: { id: newId(now.getTime()), ip: 'internal', userAgent: null, receivedAt: now.getTime() },
      at: now.toISOString(),
    });
  } catch (error) {
    // Another process starting on the same empty database was faster.
    if (violatedConstraint(error) !== undefined) return undefined;
    throw error;
  }
  return given.password === undefined ? { generatedPassword: password } : undefined;
}
