import Type, { type Static } from 'typebox';

import { Email, Timestamp, Uuid, closed, dataOf, nullable } from '#core/http/schemas';

/** At least 8 code points; the upper bound only keeps a password from being a way to burn our time. */
const Password = Type.String({ minLength: 8, maxLength: 256 });
const Token = Type.String({ minLength: 1, maxLength: 200 });
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
  password: Password,
  tenantName: Type.String({ minLength: 2, maxLength: 255, pattern: '\\S' }),
  tenantDomain: Type.String({ minLength: 2, maxLength: 63, pattern: '^[a-z0-9-]+$' }),
  displayName: Type.Optional(Type.String({ maxLength: 255 })),
  locale: Type.Optional(Type.Enum(['en', 'de', 'fr', 'es', 'it'])),
});
export type RegisterBody = Static<typeof RegisterBody>;

export const RefreshBody = closed({ refreshToken: Type.Optional(Type.String({ maxLength: 200 })) });
export const ForgotPasswordBody = closed({ email: Email });
export const ResetPasswordBody = closed({ token: Token, password: Password });
export type ResetPasswordBody = Static<typeof ResetPasswordBody>;
export const ChangePasswordBody = closed({
  currentPassword: Type.String({ minLength: 1, maxLength: 256 }),
  newPassword: Password,
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

export const CurrentUser = dataOf(
  closed(
    {
      id: Uuid,
      email: Email,
      tenantId: Uuid,
      groups: Type.Array(Type.String()),
      displayName: Type.String(),
      locale: Type.String(),
    },
    { title: 'CurrentUser' },
  ),
);

const IdentityProvider = closed(
  {
    id: Type.Enum(['google', 'apple', 'microsoft', 'github', 'facebook']),
    name: Type.String(),
    enabled: Type.Boolean(),
    icon: Type.String(),
    capabilities: closed({
      server_callback: Type.Boolean(),
      id_token: Type.Boolean(),
      pkce: Type.Boolean(),
      refresh: Type.Boolean(),
      account_linking: Type.Boolean(),
    }),
  },
  { title: 'IdentityProvider' },
);
export type IdentityProvider = Static<typeof IdentityProvider>;
export const IdentityProviders = dataOf(Type.Array(IdentityProvider));
export const ProvidersQuery = Type.Object({ tenantId: Type.Optional(Uuid) });

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
