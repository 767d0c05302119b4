import type { FastifyRequest } from 'fastify';

import { access, decide, type Access } from '#core/base/access/access';
import { hasLostPermissions, type Principal, type RequestFacts } from '#core/base/access/principal';
import type { PrincipalCache } from '#core/base/access/principal-cache';
import { AppError } from '#core/base/errors/app-error';
import { NotPermitted } from '#core/base/errors/common-errors';
import { credentialsOf, type Credentials } from '#core/http/credentials';
import { DispatcherSecretRequired } from '#core/platform/jobs/errors';
import type { SecretCheck } from '#core/platform/jobs/secret';
import type { Metrics } from '#core/platform/metrics/metrics';

/** Turns the presented credentials into a principal; undefined without credentials. */
export type Authenticate = (
  credentials: Credentials,
  facts: RequestFacts,
) => Promise<Principal | undefined> | Principal | undefined;

/** Dependencies of the identification of a caller. */
export type Identification = {
  authenticate: Authenticate;
  services: {
    dispatcher: { secret: SecretCheck };
    metrics: Pick<Metrics, 'accepts'>;
    principals: Pick<PrincipalCache, 'revision'>;
  };
};
type Rules = { rule: Access; options: Identification };

declare module 'fastify' {
  interface FastifyRequest {
    /** The revision of the cached principals before `principal` was loaded. */
    principalRevision: number;
  }
}

/** After so long an entry may have expired, which changes no revision. */
const trustedMs = 1000;

/**
 * Finds out who sends a request, and refuses callers that the route does not allow. Callbacks instead of promises: nearly every
 * principal is known already, and then nothing has to be waited for.
 */
export function identify(request: FastifyRequest, { rule, options }: Rules, done: (error?: Error) => void): void {
  // Read before anything is loaded: a revocation meanwhile must count as one that came later.
  const revision = options.services.principals.revision();
  if (rule.kind === 'dispatcher') {
    admitDispatcher(request, { rule, options }, revision).then(() => done(), done);
    return;
  }
  if (rule.kind === 'systemAdmin' && rule.orScraper && isScraper(request, options)) {
    done();
    return;
  }
  const acceptsExpired = rule.kind === 'optional' && rule.acceptsExpired;
  const credentials = { ...credentialsOf(request), acceptsExpired };
  const admit = (principal: Principal | undefined) => {
    setPrincipal(request, principal, revision);
    const decision = decide(rule, principal);
    done(decision.allowed ? undefined : decision.error);
  };
  const refuse = (error: unknown) => {
    const isDead = error instanceof AppError && error.status === 401;
    if (isDead && rule.kind === 'optional') admit(undefined);
    else done(error as Error);
  };
  try {
    const known = options.authenticate(credentials, request.facts!);
    if (known instanceof Promise) known.then(admit, refuse);
    else admit(known);
  } catch (error) {
    refuse(error);
  }
}

/** Parallel tool calls of one request authenticate it in parallel: the result of an older check does not replace a newer one. */
function setPrincipal(request: FastifyRequest, principal: Principal | undefined, revision: number): void {
  if (revision < request.principalRevision) return;
  request.principal = principal;
  request.principalRevision = revision;
}

/**
 * Whether the principal of a request is certainly as it was when the headers arrived. One comparison for a body that arrives with
 * them, so that it costs nothing there.
 */
export function isStillIdentified(request: FastifyRequest, elapsedMs: number, { services }: Identification): boolean {
  if (request.principal === undefined) return true;
  return elapsedMs < trustedMs && request.principalRevision === services.principals.revision();
}

/**
 * Authenticates a request again and applies the access rule again, for what was revoked while its body arrived. The principal
 * stays until the check ends, because parallel tool calls of the request read it.
 * @throws AppError 401 or 403, as for a new request with the same credentials
 */
export function identifyAgain(request: FastifyRequest, rules: Rules): Promise<void> {
  return new Promise((resolve, reject) => {
    identify(request, rules, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

/**
 * The same at the end of long work: a permission that the principal has lost since may be the one that the work relied on.
 * @throws AppError 401 or 403
 */
export async function assertKeepsPermissions(request: FastifyRequest, rules: Rules): Promise<void> {
  const before = request.principal;
  if (before === undefined) return;
  await identifyAgain(request, rules);
  if (request.principal !== before && hasLostPermissions(before, request.principal)) throw NotPermitted();
}

function isScraper({ headers }: FastifyRequest, { services }: Identification): boolean {
  const [scheme = '', token = ''] = headers.authorization?.split(' ') ?? [];
  return scheme.toLowerCase() === 'bearer' && services.metrics.accepts(token);
}

export async function isAdministrator(request: FastifyRequest, { authenticate }: Identification): Promise<boolean> {
  try {
    const principal = await authenticate(credentialsOf(request), request.facts!);
    return decide(access.systemAdmin(), principal).allowed;
  } catch {
    return false;
  }
}

/** Lets in who knows the secret of the dispatcher, and where the route says so, system administrators. */
async function admitDispatcher(
  request: FastifyRequest,
  { rule, options }: { rule: Extract<Access, { kind: 'dispatcher' }>; options: Identification },
  revision: number,
): Promise<void> {
  const { secret } = options.services.dispatcher;
  if (secret.knows(request.headers)) return;
  const principal = rule.orSystemAdmin ? await recognise(request, options) : undefined;
  if (principal !== undefined && decide(rule, principal).allowed) {
    setPrincipal(request, principal, revision);
    return;
  }
  secret.assertConfigured();
  await secret.noteWrong(request.headers, request.facts!.ip);
  throw DispatcherSecretRequired();
}

async function recognise(request: FastifyRequest, { authenticate }: Identification): Promise<Principal | undefined> {
  try {
    return await authenticate(credentialsOf(request), request.facts!);
  } catch (error) {
    // A credential that is not a person's is a wrong secret, and is refused as one.
    if (error instanceof AppError && error.status < 500) return undefined;
    throw error;
  }
}
