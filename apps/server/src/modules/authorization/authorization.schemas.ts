import Type, { type Static } from 'typebox';

import { flagNames } from '#core/access/flags';
import { permissionNames } from '#core/access/permissions';
import { Uuid, closed, dataOf, nullable } from '#core/http/schemas';

const PrincipalType = Type.Enum(['user', 'group', 'api_key', 'app_account']);
const Method = Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

export const ExplainBody = closed(
  {
    principal: closed({ type: PrincipalType, id: Uuid }),
    operation: Type.Optional(Type.String({ maxLength: 100, description: 'An operationId of this interface.' })),
    method: Type.Optional(Method),
    path: Type.Optional(
      Type.String({ maxLength: 2000, pattern: '^/', description: 'As in a request, e.g. `/api/v1/secure/spaces/42`.' }),
    ),
  },
  { description: 'Either `operation`, or `method` and `path`.' },
);
export type ExplainBody = Static<typeof ExplainBody>;

const Grant = Type.Union([
  closed({ source: Type.Literal('group'), id: Uuid, name: Type.String(), permission: Type.String() }),
  closed({ source: Type.Enum(['tenant_administrator', 'system_administrator']) }),
  closed({ source: Type.Literal('flag'), flag: Type.String() }),
]);
export type Grant = Static<typeof Grant>;

export const Explanation = dataOf(
  closed(
    {
      allowed: Type.Boolean(),
      operation: Type.String(),
      method: Method,
      path: Type.String({ description: 'With `{name}` for parameters.' }),
      required: Type.String({ description: 'Who may call the operation.' }),
      because: Type.String(),
      grants: Type.Array(Grant, { description: 'All that stands for the right, each of which would be enough.' }),
      principal: closed({ type: PrincipalType, id: Uuid, name: Type.String(), status: Type.String() }),
      notes: Type.Array(Type.String(), { description: 'What else decides when the call is really made.' }),
    },
    { title: 'AccessExplanation' },
  ),
);

export const PermissionCatalogue = dataOf(
  closed(
    {
      permissions: Type.Array(closed({ name: Type.Enum(permissionNames), description: Type.String() })),
      flags: Type.Array(
        closed({
          name: Type.Enum(flagNames),
          neededToGrant: nullable(Type.Enum(permissionNames)),
          grantableTo: Type.Array(Type.Enum(['api_key', 'app_account'])),
        }),
      ),
    },
    { title: 'PermissionCatalogue' },
  ),
);
