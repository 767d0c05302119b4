import { newSecret, sha256 } from '#core/base/crypto/secrets';
import { deleteInBatches } from '#core/data/db/batches';
import type { Redirect } from '#core/http/route';
import type { Services } from '#core/platform/services';
import { RedirectRefused } from '#modules/identity-providers/identity-providers.errors';
import { deleteExpiredFlows, insertFlow, useFlow } from '#modules/identity-providers/logins/flows.queries';
import { providers } from '#modules/identity-providers/providers/catalog';
import { openLine } from '#modules/identity-providers/providers/conversation';
import type { Conversation, ProviderId } from '#modules/identity-providers/providers/provider';
import { callbackUrl, type UsableRegistration } from '#modules/identity-providers/registrations/usable';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'outbound' | 'settings'>;

const flowMs = 10 * 60_000;

/** The purpose of a flow and the application that started it. */
export type Wish = {
  /** Tenant of the login; null for the account itself. */
  tenantId: string | null;
  redirectUri: string;
  appState: string | undefined;
  appChallenge: string;
  /** The account to link the identity to; null for a login. */
  linkTo: string | null;
};

/** A login that waits for the answer of the provider. */
export type Flow = Wish & {
  provider: ProviderId;
  configuredBy: string;
  /** Client and issuer at the start of the flow. */
  clientId: string;
  issuer: string | null;
  nonce: string;
  verifier: string;
};

/** The callback address that the browser used. */
export type Callback = { provider: ProviderId; configuredBy: string };

/** @throws RedirectRefused unless the address of the application exactly matches a configured one */
export function assertRedirect(usable: UsableRegistration, redirectUri: string): void {
  if (!usable.redirectUris.includes(redirectUri)) throw RedirectRefused();
}

/** @returns the address for the browser. @throws any error of the provider */
export async function beginFlow(services: Dependencies, usable: UsableRegistration, wish: Wish): Promise<URL> {
  const { provider, configuredBy, client } = usable;
  const { clientId, issuer } = client;
  const flow: Flow = {
    ...wish,
    provider,
    configuredBy,
    clientId,
    issuer,
    nonce: newSecret(),
    verifier: newSecret(),
  };
  const state = newSecret();
  const url = await providers[provider].authorizationUrl(conversationOf(services, { usable, flow, state }));
  const now = services.now();
  const hash = stateHash(flow, state);
  const row: Parameters<typeof insertFlow>[0] = {
    hash,
    payload: services.encryption.encrypt(JSON.stringify(flow), payloadPlace(hash)),
    at: now.toISOString(),
    expiresAt: new Date(now.getTime() + flowMs).toISOString(),
  };
  await services.database.credential().interactive.all(insertFlow(row));
  return url;
}

/** Consumes the flow of the state; undefined for a state that is unknown, used, expired or of another address. */
export async function takeFlow(services: Dependencies, callback: Callback, state: string): Promise<Flow | undefined> {
  const hash = stateHash(callback, state);
  const now = services.now().toISOString();
  const row = await services.database.credential().interactive.first(useFlow({ hash, now }));
  if (row === undefined) return undefined;
  return JSON.parse(services.encryption.decrypt(row.payload, payloadPlace(hash))) as Flow;
}

/** Parameters of the request to the provider, which its answer is checked against. */
export function conversationOf(
  services: Dependencies,
  { usable, flow, state }: { usable: UsableRegistration; flow: Flow; state: string },
): Conversation {
  const { nonce, verifier, provider, configuredBy } = flow;
  return {
    client: usable.client,
    challenge: { callbackUrl: callbackUrl(services, provider, configuredBy), state, nonce, verifier },
    fetch: openLine(services.outbound),
    now: services.now(),
  };
}

/** Redirects to the application, with its own state. */
export function returnTo(
  { redirectUri, appState }: Pick<Wish, 'redirectUri' | 'appState'>,
  parameters: Readonly<Record<string, string>>,
): Redirect {
  const url = new URL(redirectUri);
  const state = appState === undefined ? {} : { state: appState };
  for (const [name, value] of Object.entries({ ...parameters, ...state })) url.searchParams.set(name, value);
  return { location: url.href };
}

/** Deletes flows that expired an hour ago. */
export async function deleteAbandonedFlows(
  { database, now }: Pick<Services, 'database' | 'now'>,
  signal: AbortSignal,
): Promise<void> {
  const before = new Date(now().getTime() - 60 * 60_000).toISOString();
  await deleteInBatches(database.credential(), (limit) => deleteExpiredFlows({ before, limit }), signal);
}

// The hash includes the address, so that a state is not valid at the address of another provider or registration.
function stateHash({ provider, configuredBy }: Callback, state: string): Buffer {
  return sha256(`${provider} ${configuredBy} ${state}`);
}

function payloadPlace(hash: Buffer): string {
  return `provider_flows.payload:${hash.toString('hex')}`;
}
