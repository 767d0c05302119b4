import type { FastifyRequest } from 'fastify';

import { access, decide, type Access } from '#core/access/access';
import type { Principal, RequestFacts } from '#core/access/principal';
import { AppError } from '#core/errors/app-error';
import { credentialsOf, type Credentials } from '#core/http/credentials';
import { DispatcherSecretRequired } from '#core/jobs/errors';
import type { SecretCheck } from '#core/jobs/secret';
import type { Metrics } from '#core/metrics/metrics';

/** Turns the presented credentials into a principal; undefined when there are none. */
export type Authenticate = (
  credentials: Credentials,
  facts: RequestFacts,
) => Promise<Principal | undefined> | Principal | undefined;

type Options = {
  authenticate: Authenticate;
  services: { dispatcher: { secret: SecretCheck }; metrics: Pick<Metrics, 'accepts'> };
};
type Rules = { rule: Access; options: Options };

/**
 * Finds out who sends a request, and refuses whoever the route is not for. Callbacks instead of promises: nearly every
 * principal is known already, and then nothing has to be waited for.
 */
export function identify(request: FastifyRequest, { rule, options }: Rules, done: (error?: Error) => void): void {
  if (rule.kind === 'dispatcher') {
    admitDispatcher(request, { rule, options }).then(() => done(), done);
    return;
  }
  if (rule.kind === 'systemAdmin' && rule.orScraper && isScraper(request, options)) {
    done();
    return;
  }
  const acceptsExpired = rule.kind === 'optional' && rule.acceptsExpired;
  const credentials = { ...credentialsOf(request), acceptsExpired };
  const admit = (principal: Principal | undefined) => {
    request.principal = principal;
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

function isScraper({ headers }: FastifyRequest, { services }: Options): boolean {
  const [scheme = '', token = ''] = headers.authorization?.split(' ') ?? [];
  return scheme.toLowerCase() === 'bearer' && services.metrics.accepts(token);
}

export async function isAdministrator(request: FastifyRequest, { authenticate }: Options): Promise<boolean> {
  try {
    const principal = await authenticate(credentialsOf(request), request.facts!);
    return decide(access.systemAdmin(), principal).allowed;
  } catch {
    return false;
  }
}

type DispatcherRules = { rule: Extract<Access, { kind: 'dispatcher' }>; options: Options };

/** Lets in who knows the secret of the dispatcher, and where the route says so, system administrators. */
async function admitDispatcher(request: FastifyRequest, { rule, options }: DispatcherRules): Promise<void> {
  const { secret } = options.services.dispatcher;
  if (secret.knows(request.headers)) return;
  const principal = rule.orSystemAdmin ? await recognise(request, options) : undefined;
  if (principal !== undefined && decide(rule, principal).allowed) {
    request.principal = principal;
    return;
  }
  secret.assertConfigured();
  await secret.noteWrong(request.headers, request.facts!.ip);
  throw DispatcherSecretRequired();
}

async function recognise(request: FastifyRequest, { authenticate }: Options): Promise<Principal | undefined> {
  try {
    return await authenticate(credentialsOf(request), request.facts!);
  } catch (error) {
    // What is no credential of a person is a wrong secret, and told so.
    if (error instanceof AppError && error.status < 500) return undefined;
    throw error;
  }
}
