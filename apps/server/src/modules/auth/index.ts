import { defineModule } from '#core/http/route';
import { accountRoutes } from '#modules/auth/accounts/accounts.routes';
import { DomainTaken, EmailTaken } from '#modules/auth/auth.errors';
import { cleanUp } from '#modules/auth/auth.jobs';
import { authRoutes } from '#modules/auth/auth.routes';

export { accountChanged, auditInEach } from '#modules/auth/accounts/account-events';
export {
  findAccountProofs,
  findOneTimeToken,
  listMemberships,
  lockAccount,
  lockAccountState,
  useOneTimeToken,
} from '#modules/auth/accounts/accounts.queries';
export { TooManyInvitations } from '#modules/auth/auth.errors';
export { normaliseEmail } from '#modules/auth/accounts/email-address';
export { leftoversWork, type Leftovers } from '#modules/auth/accounts/disowning.service';
export { clearFactors } from '#modules/auth/accounts/take-over';
export {
  oneTimeTokenHash,
  missingAssurance,
  secondFactorLimitKeys,
  secondFactorLimitOwner,
} from '#modules/auth/auth.rules';
export { appAccountPlace, openPasswordHash, sealPassword } from '#modules/auth/passwords/stored-password';
export {
  announceSessions,
  maxSessionsPerUser,
  startSession,
  type StartedSession,
} from '#modules/auth/sessions/session-start';
export { lockAssurance, lockForChange, type Assurance } from '#modules/auth/sessions/assurance';
export { endAccountSessions, endOldestSessions, findActiveFactor } from '#modules/auth/sessions/sessions.queries';
export { offerTenants, type TenantSelection } from '#modules/auth/login/login.service';
export { LoginAnswer } from '#modules/auth/auth.schemas';
export { findOpenTenant } from '#modules/auth/accounts/own-tenants.queries';
export { findOpenTenants } from '#modules/auth/accounts/own-tenants.service';
export { addPerson } from '#modules/auth/accounts/add-person';
export { withdrawInvitation } from '#modules/auth/accounts/invitation-mail';
export { sendInvitationAgain } from '#modules/auth/accounts/invitations.service';
export { createAuthenticator, type KeyAuthenticator } from '#modules/auth/sessions/authenticate';
export { newOneTimeToken } from '#modules/auth/tokens/one-time-tokens';
export { createAccessTokens } from '#modules/auth/tokens/signing-keys';
export { ensureSystemAdministrator } from '#modules/auth/accounts/first-administrator';

/** Login, sessions, passwords and registration of tenants. */
export const authModule = defineModule({
  name: 'auth',
  description: 'Login, sessions, passwords and registration of tenants',
  routes: [...authRoutes, ...accountRoutes],
  jobs: [cleanUp],
  constraints: { accounts_email_key: EmailTaken, tenant_domains_pkey: DomainTaken },
});
