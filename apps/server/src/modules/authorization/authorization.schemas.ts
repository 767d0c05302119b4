import Type, { type Static } from 'typebox';

import { flagNames } from '#core/base/access/flags';
import { permissionNames } from '#core/base/access/permissions';
import { Uuid, closed, dataOf, nullable } from '#core/base/schemas';

const PrincipalType = Type.Enum(['user', 'group', 'api_key', 'app_account'], { description: 'Kind of the principal.' });
const Method = Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'HTTP method of the operation.' });

export const ExplainBody = closed(
  {
    principal: closed(
      { type: PrincipalType, id: Uuid },
      { description: 'User, group, API key or app account whose access is explained.' },
    ),
    operation: Type.Optional(
      Type.String({ maxLength: 100, description: 'Operation, by its `operationId` in `GET /openapi.json`.' }),
    ),
    method: Type.Optional(Method),
    path: Type.Optional(
      Type.String({
        maxLength: 2000,
        pattern: '^/',
        description: 'Path of a request, such as `/api/v1/secure/spaces/42`.',
      }),
    ),
  },
  { description: 'Either `operation`, or `method` and `path`.' },
);
export type ExplainBody = Static<typeof ExplainBody>;

const source = { description: 'Origin of the permission.' };
const Grant = Type.Union([
  closed({
    source: Type.Literal('group', source),
    id: Uuid,
    name: Type.String(),
    permission: Type.String({ description: 'Permission that the group holds.' }),
  }),
  closed({ source: Type.Enum(['tenant_administrator', 'system_administrator'], source) }),
  closed({
    source: Type.Literal('flag', source),
    flag: Type.String({ description: 'Flag that the API key or app account holds.' }),
  }),
]);
export type Grant = Static<typeof Grant>;

export const Explanation = dataOf(
  closed(
    {
      allowed: Type.Boolean({ description: 'Whether the principal may call the operation.' }),
      operation: Type.String({ description: 'Operation, by its `operationId`.' }),
      method: Method,
      path: Type.String({ description: 'Path of the operation, with `{name}` for parameters.' }),
      required: Type.String({ description: 'Access rule of the operation.' }),
      because: Type.String({ description: 'Reason for the decision.' }),
      grants: Type.Array(Grant, { description: 'Everything that permits the operation; one entry is enough.' }),
      principal: closed(
        {
          type: PrincipalType,
          id: Uuid,
          name: Type.String(),
          status: Type.String({ description: 'Status of the principal; only `active` permits calls.' }),
        },
        { description: 'User, group, API key or app account whose access is explained.' },
      ),
      notes: Type.Array(Type.String(), { description: 'Further conditions that a real request must meet.' }),
    },
    { title: 'AccessExplanation' },
  ),
);

export const PermissionCatalogue = dataOf(
  closed(
    {
      permissions: Type.Array(
        closed({
          name: Type.Enum(permissionNames),
          description: Type.String({ description: 'Actions that the permission allows.' }),
        }),
        { description: 'Permissions that groups can hold.' },
      ),
      flags: Type.Array(
        closed({
          name: Type.Enum(flagNames),
          neededToGrant: Type.With(nullable(Type.Enum(permissionNames)), {
            description: 'Permission that the caller must hold to grant the flag; null if none is required.',
          }),
          grantableTo: Type.Array(Type.Enum(['api_key', 'app_account']), {
            description: 'Kinds of principals that can hold the flag.',
          }),
        }),
        { description: 'Flags that API keys and app accounts can hold.' },
      ),
    },
    { title: 'PermissionCatalogue' },
  ),
);
