import Type, { type Static } from 'typebox';

import { Email, Timestamp, Uuid, closed, dataOf, nullable } from '#core/http/schemas';

/** At least 8 code points; the upper bound only keeps a password from being a way to burn our time. */
const Password = Type.String({ minLength: 8, maxLength: 256 });
export const NewPassword = Type.String({
  minLength: 8,
  maxLength: 256,
  format: 'password',
  description: 'At least 8 characters, counted as Unicode composes them (NFKC).',
});
export const Token = Type.String({ minLength: 1, maxLength: 200 });
const Message = closed({ message: Type.String() });

export const LoginBody = closed({
  email: Email,
  password: Password,
  rememberMe: Type.Optional(Type.Boolean()),
  tenantId: Type.Optional(Uuid),
});
export type LoginBody = Static<typeof LoginBody>;

export const SelectTenantBody = closed({ selectionToken: Token, tenantId: Uuid });
export type SelectTenantBody = Static<typeof SelectTenantBody>;

export const RegisterBody = closed({
  email: Email,
  password: NewPassword,
  tenantName: Type.String({ minLength: 2, maxLength: 255, pattern: '\\S', format: 'line' }),
  tenantDomain: Type.String({ minLength: 2, maxLength: 63, pattern: '^[a-z0-9-]+$' }),
  displayName: Type.Optional(Type.String({ maxLength: 255, format: 'line' })),
  locale: Type.Optional(Type.Enum(['en', 'de', 'fr', 'es', 'it'])),
});
export type RegisterBody = Static<typeof RegisterBody>;

export const RefreshBody = closed({ refreshToken: Type.Optional(Type.String({ maxLength: 200 })) });
export const ForgotPasswordBody = closed({ email: Email });
export const ResetPasswordBody = closed({ token: Token, password: NewPassword });
export type ResetPasswordBody = Static<typeof ResetPasswordBody>;
export const ChangePasswordBody = closed({
  currentPassword: Type.String({ minLength: 1, maxLength: 256 }),
  newPassword: NewPassword,
});
export type ChangePasswordBody = Static<typeof ChangePasswordBody>;

const tokens = {
  accessToken: Type.String(),
  refreshToken: Type.String(),
  expiresIn: Type.Integer({ description: 'Seconds' }),
};

const SessionUser = closed(
  {
    id: Uuid,
    email: Email,
    displayName: nullable(Type.String()),
    fullName: Type.String(),
    tenantId: Uuid,
    tenantName: nullable(Type.String()),
    groups: Type.Array(Type.String()),
    groupDetails: nullable(
      Type.Array(closed({ id: Uuid, name: Type.String(), permissions: Type.Array(Type.String()) })),
    ),
    permissions: nullable(Type.Array(Type.String())),
    isSystemAdmin: Type.Boolean(),
    isTenantAdmin: Type.Boolean(),
  },
  { title: 'SessionUser' },
);

export const LoggedIn = closed({ user: SessionUser, ...tokens }, { title: 'LoggedIn' });

const TenantSelection = closed(
  {
    requiresTenantSelection: Type.Literal(true),
    tenants: Type.Array(closed({ id: Uuid, name: Type.String(), domain: Type.String() })),
    selectionToken: Type.String(),
    message: Type.String(),
  },
  { title: 'TenantSelection', description: 'The person belongs to several tenants and named none.' },
);

export const LoginAnswer = Type.Union([LoggedIn, TenantSelection]);
export const Refreshed = closed(tokens, { title: 'RefreshedTokens' });

export const Registered = closed({
  user: closed({ id: Uuid, email: Email, tenantId: Uuid }),
  tenant: closed({ id: Uuid, name: Type.String(), domain: Type.String() }),
  message: Type.String(),
});

export const CurrentUserQuery = Type.Object({
  include: Type.Optional(Type.Enum(['permissions'], { description: '`permissions` adds what the caller may do.' })),
});

const currentUser = {
  id: Uuid,
  email: Email,
  tenantId: Uuid,
  groups: Type.Array(Type.String()),
  displayName: Type.String(),
  locale: Type.String(),
};

const CurrentUserWithPermissions = closed(
  {
    ...currentUser,
    permissions: Type.Array(Type.String(), { description: 'Of an app account, its flags.' }),
    isTenantAdmin: Type.Boolean(),
    isSystemAdmin: Type.Boolean(),
  },
  { title: 'CurrentUserWithPermissions', description: 'With `include=permissions`.' },
);

export const CurrentUser = dataOf(
  Type.Union([closed(currentUser, { title: 'CurrentUser' }), CurrentUserWithPermissions]),
);

export const LogoutQuery = Type.Object({
  scope: Type.Optional(Type.Enum(['all'], { description: '`all` ends every session of the person in this tenant.' })),
});

export const Sessions = dataOf(
  Type.Array(
    closed(
      {
        id: Uuid,
        current: Type.Boolean(),
        ip_address: nullable(Type.String()),
        user_agent: nullable(Type.String()),
        created_at: Timestamp,
        last_used_at: Timestamp,
        expires_at: Timestamp,
      },
      { title: 'Session' },
    ),
  ),
);

export const JwkSet = closed({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }, { title: 'JwkSet' });
export { Message };
