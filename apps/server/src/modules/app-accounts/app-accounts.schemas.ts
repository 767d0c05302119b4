import Type, { type Static } from 'typebox';

import { AppAccountPermissions, AppAccountPermissionChanges } from '#core/base/access/flags';
import { Email, Timestamp, Uuid, closed, dataOf, listOf, nullable, paging } from '#core/base/schemas';
import { UsageSummary } from '#core/data/usage/usage.schemas';

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Description = Type.String({ maxLength: 500 });
const Status = Type.Enum(['active', 'suspended', 'revoked'], {
  description: 'Status; only an active app account can log in.',
});
/** Bounds count code points; the upper bound limits the CPU time of hashing. */
const Password = Type.String({ minLength: 12, maxLength: 256, format: 'machine-password' });

export const CreateAppAccountBody = closed({
  name: Name,
  email: Email,
  password: Password,
  description: Type.Optional(Description),
  permissions: Type.Optional(AppAccountPermissions),
  expires_at: Type.Optional(Timestamp),
});
export type CreateAppAccountBody = Static<typeof CreateAppAccountBody>;

export const UpdateAppAccountBody = closed({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  permissions: Type.Optional(AppAccountPermissionChanges),
  status: Type.Optional(Status),
  expires_at: Type.Optional(nullable(Timestamp)),
});
export type UpdateAppAccountBody = Static<typeof UpdateAppAccountBody>;

export const SetAppAccountPasswordBody = closed({ password: Password });

/** Unlike other lists, the answer has all rows if the request has no limit. */
export const ListAppAccountsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of records in the answer; by default all.' }),
  ),
  offset: paging.offset,
});
export type ListAppAccountsQuery = Static<typeof ListAppAccountsQuery>;

const AppAccount = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    auth_user_id: Type.With(nullable(Uuid), {
      description: 'Identity that logs in, by identifier; null while the app account has no password.',
    }),
    name: Type.String(),
    email: Email,
    description: nullable(Type.String()),
    permissions: AppAccountPermissions,
    status: Status,
    expires_at: nullable(Timestamp),
    last_used_at: nullable(Timestamp),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'AppAccount' },
);
export const AppAccountAnswer = dataOf(AppAccount);
export const AppAccountList = listOf(AppAccount);

export const RegeneratedPassword = dataOf(
  closed({ password: Type.String({ description: 'New password; only this answer shows it.' }) }),
);
export const PasswordSet = closed({ data: closed({ id: Uuid, updated_at: Timestamp }), message: Type.String() });

export const UsageStats = dataOf(UsageSummary);
