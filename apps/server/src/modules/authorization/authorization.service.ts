import { decide, describeAccess, type Access, type Decision } from '#core/base/access/access';
import { AppAccountPermissions, flagNames, neededToGrant } from '#core/base/access/flags';
import { permissionNames, permissions } from '#core/base/access/permissions';
import type { TenantDb } from '#core/data/db/scopes';
import type { Route } from '#core/http/route';
import type { Services } from '#core/platform/services';
import { OperationNotFound, OperationNotNamed, PrincipalNotFound } from '#modules/authorization/authorization.errors';
import { operationAt } from '#modules/authorization/authorization.rules';
import type { ExplainBody } from '#modules/authorization/authorization.schemas';
import { findSubject, type Subject } from '#modules/authorization/principals';

type Scope = { db: TenantDb; services: Pick<Services, 'database' | 'now'>; routes: readonly Route[] };

/**
 * Evaluates the access rule with the engine that decides on requests, without a request.
 * @throws OperationNotNamed, OperationNotFound, PrincipalNotFound
 */
export async function explainAccess({ db, services, routes }: Scope, body: ExplainBody) {
  const route = namedOperation(routes, body);
  const subject = await findSubject({ db, services }, body.principal);
  if (subject === undefined) throw PrincipalNotFound();
  const decision = decideFor(route.access, subject);
  return {
    data: {
      allowed: decision.allowed,
      operation: route.operationId,
      method: route.method,
      path: route.path,
      required: describeAccess(route.access),
      because: toSentence(decision.because),
      grants: subject.grants(route.access),
      principal: subject.principal,
      notes: [...subject.notes, ...ruleNotes(route.access, subject)],
    },
  };
}

function namedOperation(routes: readonly Route[], { operation, method, path }: ExplainBody): Route {
  const isNamed = operation !== undefined;
  const isPlaced = method !== undefined && path !== undefined;
  const isBoth = isNamed && (method !== undefined || path !== undefined);
  if (isBoth || (!isNamed && !isPlaced)) throw OperationNotNamed();
  const route = isNamed
    ? routes.find((candidate) => candidate.operationId === operation)
    : operationAt(routes, { method: method!, path: path! });
  if (route === undefined) throw OperationNotFound();
  return route;
}

// An inactive principal counts as unauthenticated: it may call only public operations.
function decideFor(rule: Access, { caller, inactive }: Subject): Pick<Decision, 'allowed' | 'because'> {
  if (inactive === undefined) return decide(rule, caller);
  const decision = decide(rule, undefined);
  return decision.allowed ? decision : { allowed: false, because: inactive };
}

function ruleNotes(rule: Access, { caller }: Subject): string[] {
  const isOwnAccount = rule.kind === 'person' && rule.missingFactors !== 'any' && caller.kind === 'user';
  return isOwnAccount ? ['A session through an identity provider of this tenant may not call it.'] : [];
}

function toSentence(because: string): string {
  return `${because.charAt(0).toUpperCase()}${because.slice(1)}.`;
}

/** Permissions that groups can hold, and flags of API keys and app accounts. */
export function listPermissions() {
  return {
    data: {
      permissions: permissionNames.map((name) => ({ name, description: permissions[name] })),
      flags: flagNames.map((name) => ({
        name,
        neededToGrant: neededToGrant([name])[0] ?? null,
        grantableTo: isForAppAccounts(name) ? ['api_key', 'app_account'] : ['api_key'],
      })),
    },
  };
}

function isForAppAccounts(flag: string): boolean {
  const [section] = flag.split('.') as [string];
  return section in AppAccountPermissions.properties;
}
