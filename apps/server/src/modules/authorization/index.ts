import { access } from '#core/access/access';
import { defineModule, defineRoute, type Module } from '#core/http/route';
import { OperationNotFound, OperationNotNamed, PrincipalNotFound } from '#modules/authorization/authorization.errors';
import { ExplainBody, Explanation, PermissionCatalogue } from '#modules/authorization/authorization.schemas';
import { explainAccess, listPermissions } from '#modules/authorization/authorization.service';

/** Why somebody can or cannot call an operation. */
export function createAuthorizationModule(listModules: () => readonly Module[]): Module {
  const listRoutes = () => listModules().flatMap((module) => module.routes);
  return defineModule({
    name: 'authorization',
    description: 'Why somebody can or cannot call an operation',
    routes: [
      defineRoute({
        method: 'POST',
        path: '/api/v1/secure/authz/explain',
        operationId: 'explainAccess',
        summary: 'Whether a user, group, API key or app account may call an operation, and why',
        access: access.permission('authorization.read'),
        schema: { body: ExplainBody, response: { 200: Explanation } },
        errors: [OperationNotNamed, OperationNotFound, PrincipalNotFound],
        audit: { none: 'a question changes nothing' },
        handler: ({ body, db, services }) => explainAccess({ db, services, routes: listRoutes() }, body),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/authz/permissions',
        operationId: 'listPermissions',
        summary: 'The permissions that groups can hold, and the flags of API keys and app accounts',
        access: access.member(),
        schema: { response: { 200: PermissionCatalogue } },
        handler: () => listPermissions(),
      }),
    ],
  });
}
