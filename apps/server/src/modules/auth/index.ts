import { defineModule } from '#core/http/route';
import { DomainTaken, EmailTaken } from '#modules/auth/auth.errors';
import { authRoutes } from '#modules/auth/auth.routes';

export { addPerson } from '#modules/auth/add-person';
export { deleteExpired } from '#modules/auth/clean-up';
export { createAuthenticator } from '#modules/auth/authenticate';
export { createAccessTokens } from '#modules/auth/signing-keys';
export { createFirstAdministrator } from '#modules/auth/first-administrator';

/** Login, sessions, passwords and the registration of tenants. */
export const authModule = defineModule({
  name: 'auth',
  description: 'Login, sessions, passwords and the registration of tenants',
  routes: authRoutes,
  constraints: { accounts_email_key: EmailTaken, tenant_domains_pkey: DomainTaken },
});
