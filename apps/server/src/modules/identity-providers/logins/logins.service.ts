import type { RequestFacts } from '#core/base/access/principal';
import { clientNetwork, isLoopback } from '#core/base/net/ranges';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Query } from '#core/data/db/query';
import { createLimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Redirect } from '#core/http/route';
import type { Services } from '#core/platform/services';
import { findOpenTenant } from '#modules/auth/index';
import { recogniseIdentity } from '#modules/identity-providers/identities/linking';
import {
  FlowUnusable,
  ProviderNotAvailable,
  TooManyLogins,
} from '#modules/identity-providers/identity-providers.errors';
import type { CallbackParameters, StartQuery } from '#modules/identity-providers/identity-providers.schemas';
import { issueCode } from '#modules/identity-providers/logins/codes';
import { reportFailure } from '#modules/identity-providers/logins/failures';
import {
  assertRedirect,
  beginFlow,
  conversationOf,
  returnTo,
  takeFlow,
  type Callback,
  type Flow,
} from '#modules/identity-providers/logins/flows';
import { providers } from '#modules/identity-providers/providers/catalog';
import type { ProviderId, ProviderUser } from '#modules/identity-providers/providers/provider';
import { findUsableRegistration, type UsableRegistration } from '#modules/identity-providers/registrations/usable';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'now' | 'outbound' | 'securityEvents' | 'settings'
>;

/** Maximum number of logins that one address may start: each writes a row and may call the provider. */
const startLimit = { max: 120, windowMs: 60_000 };

/** Refusals for the application; the same for every reason why a user is unknown. */
const refusals = {
  access_denied: 'The login was cancelled at the provider.',
  provider_failed: 'The provider did not answer as expected. Try again.',
  account_not_linked: 'No account is linked to this identity. Log in with another method and link it to your account.',
  login_refused: 'This login is not permitted.',
} as const;
type Refusal = keyof typeof refusals;

/** Redirects the browser to the provider. @throws ProviderNotAvailable, RedirectRefused, TooManyLogins */
export async function startLogin(
  services: Dependencies,
  provider: ProviderId,
  query: StartQuery,
  request: RequestFacts,
): Promise<Redirect> {
  const tenantId = query.tenantId ?? null;
  const usable = await findUsableRegistration(services, provider, tenantId);
  if (usable === undefined) throw ProviderNotAvailable();
  assertRedirect(usable, query.redirect_uri);
  const key = `provider-start-ip:${clientNetwork(request.ip)}`;
  const limits = isLoopback(request.ip) ? [] : [{ key, ...startLimit }];
  await createLimitedAttempt(services, limits, TooManyLogins).admit();
  const { redirect_uri: redirectUri, state: appState, code_challenge: appChallenge } = query;
  const wish = { tenantId, redirectUri, appState, appChallenge, linkTo: null };
  try {
    return { location: (await beginFlow(services, usable, wish)).href };
  } catch (error) {
    reportFailure(services, { usable, request }, error);
    return refused(wish, 'provider_failed');
  }
}

/**
 * Handles the return of the browser and redirects it to the application with a code or a refusal.
 * @throws FlowUnusable
 */
export async function finishLogin(
  services: Dependencies,
  callback: Callback,
  response: CallbackParameters,
  request: RequestFacts,
): Promise<Redirect> {
  const flow = await takeFlow(services, callback, response.state);
  const usable = flow === undefined ? undefined : await findUsableRegistration(services, flow.provider, flow.tenantId);
  // The configuration may have changed meanwhile and may no longer be the one that the login started with.
  if (flow === undefined || usable === undefined || !stillServes(usable, flow)) throw FlowUnusable();
  const vouched = await vouch(services, { usable, flow, response }, request);
  if (typeof vouched === 'string') return refused(flow, vouched);
  const outcome = await admit(services, flow, vouched, request);
  if ('code' in outcome) return returnTo(flow, outcome);
  await recordRefusal(services, flow, outcome.refusal, request);
  return refused(flow, outcome.refusal);
}

function stillServes(usable: UsableRegistration, flow: Flow): boolean {
  const { client, configuredBy, redirectUris } = usable;
  const isSame = configuredBy === flow.configuredBy && client.clientId === flow.clientId;
  return isSame && client.issuer === flow.issuer && redirectUris.includes(flow.redirectUri);
}

// Apple uses its own error code.
const cancellations = ['access_denied', 'user_cancelled_authorize'];

async function vouch(
  services: Dependencies,
  { usable, flow, response }: { usable: UsableRegistration; flow: Flow; response: CallbackParameters },
  request: RequestFacts,
): Promise<ProviderUser | Refusal> {
  const { code, error, iss, state } = response;
  if (error !== undefined && cancellations.includes(error)) return 'access_denied';
  try {
    if (error !== undefined || code === undefined) throw new Error('the provider sent an error, or no code');
    const conversation = conversationOf(services, { usable, flow, state });
    return await providers[flow.provider].identify(conversation, { code, iss });
  } catch (failure) {
    reportFailure(services, { usable, request }, failure);
    return 'provider_failed';
  }
}

async function admit(
  services: Dependencies,
  flow: Flow,
  vouched: ProviderUser,
  request: RequestFacts,
): Promise<{ code: string } | { refusal: Refusal }> {
  const { provider, configuredBy, appChallenge, tenantId, linkTo } = flow;
  const common = { provider, configuredBy, appChallenge };
  if (linkTo !== null) {
    const { subject, email } = vouched;
    return { code: await issueCode(services, linkTo, { ...common, kind: 'link', subject, email }) };
  }
  const identity = await recogniseIdentity(services, { ...vouched, provider, configuredBy }, { tenantId, request });
  if (identity === undefined) return { refusal: 'account_not_linked' };
  const { id: identityId, account_id: accountId } = identity;
  if (tenantId !== null) {
    const user = await services.database.credential(tenantId).first(findOpenTenant({ tenantId, accountId }));
    if (user === undefined) return { refusal: 'login_refused' };
  }
  return { code: await issueCode(services, accountId, { ...common, kind: 'login', tenantId, identityId }) };
}

/** Recorded for the owner of the registration; for one of the installation, in the system tenant. */
async function recordRefusal(
  services: Dependencies,
  { provider, configuredBy: tenantId }: Flow,
  reason: Refusal,
  request: RequestFacts,
): Promise<void> {
  const details = { provider, reason };
  services.log.warn({ requestId: request.id, ip: request.ip, ...details }, 'login failed');
  const event = { action: 'auth.login_failed', resourceType: 'account', details };
  const row: Query<never> = auditEvent({ tenantId, userId: null, request }, services.now().toISOString(), event);
  await services.database.credential(tenantId).interactive.batch([row]);
  const seen = { ...details, ip: request.ip, requestId: request.id };
  services.securityEvents.record({ type: 'login_failed', tenantId, userId: null, details: seen });
}

function refused(flow: Pick<Flow, 'redirectUri' | 'appState'>, refusal: Refusal): Redirect {
  return returnTo(flow, { error: refusal, error_description: refusals[refusal] });
}
