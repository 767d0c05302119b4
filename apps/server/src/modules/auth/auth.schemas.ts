import Type, { type Static } from 'typebox';

import { Email, Timestamp, Uuid, closed, dataOf, nullable } from '#core/base/schemas';

/** At least 8 code points; the upper bound limits the CPU time of hashing. */
const Password = Type.String({ minLength: 8, maxLength: 256 });
export const NewPassword = Type.String({
  minLength: 8,
  maxLength: 256,
  format: 'password',
  description: 'New password; its length counts Unicode characters after NFKC normalisation.',
});
export const Token = Type.String({ minLength: 1, maxLength: 200, description: 'One-time token from the mail.' });
const Message = closed({ message: Type.String() });

export const LoginBody = closed({
  email: Email,
  password: Password,
  rememberMe: Type.Optional(Type.Boolean()),
  tenantId: Type.Optional(
    Type.With(Uuid, { description: 'Tenant to log in to; required if the account belongs to several tenants.' }),
  ),
});
export type LoginBody = Static<typeof LoginBody>;

export const SelectTenantBody = closed({
  selectionToken: Type.With(Token, { description: 'Token from the answer of the login.' }),
  tenantId: Type.With(Uuid, { description: 'Tenant to log in to, one of those that the login listed.' }),
});
export type SelectTenantBody = Static<typeof SelectTenantBody>;

export const RegisterBody = closed({
  email: Email,
  password: NewPassword,
  tenantName: Type.String({ minLength: 2, maxLength: 255, pattern: '\\S', format: 'line' }),
  tenantDomain: Type.String({
    minLength: 2,
    maxLength: 63,
    pattern: '^[a-z0-9-]+$',
    description: 'Short name of the tenant, unique in the installation.',
  }),
  displayName: Type.Optional(
    Type.String({
      maxLength: 255,
      format: 'line',
      description: 'Name that others see; by default the e-mail address up to the `@`.',
    }),
  ),
  locale: Type.Optional(
    Type.Enum(['en', 'de', 'fr', 'es', 'it'], {
      description: 'Language of the user and default language of the tenant; by default `en`.',
    }),
  ),
});
export type RegisterBody = Static<typeof RegisterBody>;

export const RefreshBody = closed({
  refreshToken: Type.Optional(
    Type.String({ maxLength: 200, description: 'Latest refresh token of the session; required.' }),
  ),
});
export const ForgotPasswordBody = closed({ email: Email });
export const ResetPasswordBody = closed({ token: Token, password: NewPassword });
export type ResetPasswordBody = Static<typeof ResetPasswordBody>;
export const ChangePasswordBody = closed({
  currentPassword: Type.String({ minLength: 1, maxLength: 256, description: 'Password before the change.' }),
  newPassword: NewPassword,
});
export type ChangePasswordBody = Static<typeof ChangePasswordBody>;

export const TenantDomain = Type.String({ description: 'Short name of the tenant, unique in the installation.' });

const tokens = {
  accessToken: Type.String({ description: 'Signed JWT for the `Authorization: Bearer` header.' }),
  refreshToken: Type.String({ description: 'Token for the next refresh; valid once.' }),
  expiresIn: Type.Integer({ description: 'Lifetime of the access token in seconds.' }),
};

const SessionUser = closed(
  {
    id: Uuid,
    email: Email,
    displayName: nullable(Type.String()),
    fullName: Type.String(),
    tenantId: Uuid,
    tenantName: nullable(Type.String()),
    groups: Type.Array(Type.String(), { description: 'Names of the groups of the user.' }),
    groupDetails: Type.With(
      nullable(Type.Array(closed({ id: Uuid, name: Type.String(), permissions: Type.Array(Type.String()) }))),
      { description: 'Groups of the user with their permissions; null for an app account.' },
    ),
    permissions: Type.With(nullable(Type.Array(Type.String())), {
      description: 'Permissions from all groups of the user; the flags of an app account.',
    }),
    isSystemAdmin: Type.Boolean(),
    isTenantAdmin: Type.Boolean(),
  },
  { title: 'SessionUser', description: 'User or app account that is logged in.' },
);

export const LoggedIn = closed({ user: SessionUser, ...tokens }, { title: 'LoggedIn' });

const TenantSelection = closed(
  {
    requiresTenantSelection: Type.Literal(true, { description: 'Marks this kind of answer.' }),
    tenants: Type.Array(closed({ id: Uuid, name: Type.String(), domain: TenantDomain }), {
      description: 'Tenants of the account that the client can choose from.',
    }),
    selectionToken: Type.String({ description: 'Token for `select-tenant`; valid once, for 5 minutes.' }),
    message: Type.String(),
  },
  { title: 'TenantSelection', description: 'The account belongs to several tenants and the request did not name one.' },
);

export const LoginAnswer = Type.Union([LoggedIn, TenantSelection]);
export const Refreshed = closed(tokens, { title: 'RefreshedTokens' });

export const Registered = closed({
  user: closed({ id: Uuid, email: Email, tenantId: Uuid }, { description: 'First user, who administers the tenant.' }),
  tenant: closed({ id: Uuid, name: Type.String(), domain: TenantDomain }, { description: 'Tenant that was created.' }),
  message: Type.String(),
});

export const CurrentUserQuery = Type.Object({
  include: Type.Optional(
    Type.Enum(['permissions'], { description: '`permissions` adds the permissions and roles of the caller.' }),
  ),
});

const currentUser = {
  id: Uuid,
  email: Email,
  tenantId: Uuid,
  groups: Type.Array(Type.String(), { description: 'Names of the groups of the user; empty for an app account.' }),
  displayName: Type.String(),
  locale: Type.String(),
};

const CurrentUserWithPermissions = closed(
  {
    ...currentUser,
    permissions: Type.Array(Type.String(), {
      description: 'Permissions from all groups of the user; the flags of an app account.',
    }),
    isTenantAdmin: Type.Boolean(),
    isSystemAdmin: Type.Boolean(),
  },
  { title: 'CurrentUserWithPermissions', description: 'Answer to `include=permissions`.' },
);

export const CurrentUser = dataOf(
  Type.Union([closed(currentUser, { title: 'CurrentUser' }), CurrentUserWithPermissions]),
);

export const LogoutQuery = Type.Object({
  scope: Type.Optional(Type.Enum(['all'], { description: '`all` revokes every session of the user in this tenant.' })),
});

export const Sessions = dataOf(
  Type.Array(
    closed(
      {
        id: Uuid,
        current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
        ip_address: nullable(Type.String()),
        user_agent: nullable(Type.String()),
        created_at: Timestamp,
        last_used_at: Timestamp,
        expires_at: Type.With(Timestamp, { description: 'Time at which the session ends if it is not used again.' }),
      },
      { title: 'Session' },
    ),
  ),
);

export const JwkSet = closed(
  {
    keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Public keys that verify access tokens, as JWK (RFC 7517).',
    }),
  },
  { title: 'JwkSet' },
);
export { Message };
