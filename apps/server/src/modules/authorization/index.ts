import { access } from '#core/base/access/access';
import { defineModule, defineRoute, type Module } from '#core/http/route';
import { OperationNotFound, OperationNotNamed, PrincipalNotFound } from '#modules/authorization/authorization.errors';
import { ExplainBody, Explanation, PermissionCatalogue } from '#modules/authorization/authorization.schemas';
import { explainAccess, listPermissions } from '#modules/authorization/authorization.service';

/** Explains access decisions. */
export function createAuthorizationModule(listModules: () => readonly Module[]): Module {
  const listRoutes = () => listModules().flatMap((module) => module.routes);
  return defineModule({
    name: 'authorization',
    description: 'Explanation of access decisions; permissions and flags',
    routes: [
      defineRoute({
        method: 'POST',
        path: '/api/v1/secure/authz/explain',
        operationId: 'explainAccess',
        summary: 'Explain whether a user, group, API key or app account may call an operation',
        access: access.permission('authorization.read'),
        schema: { body: ExplainBody, response: { 200: Explanation } },
        errors: [OperationNotNamed, OperationNotFound, PrincipalNotFound],
        audit: { none: 'the operation only reads' },
        handler: ({ body, db, services }) => explainAccess({ db, services, routes: listRoutes() }, body),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/authz/permissions',
        operationId: 'listPermissions',
        summary: 'List the permissions of groups and the flags of API keys and app accounts',
        access: access.member(),
        schema: { response: { 200: PermissionCatalogue } },
        handler: () => listPermissions(),
      }),
    ],
  });
}
