import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, listOf } from '#core/base/schemas';
import { NewPassword, TenantDomain, Token } from '#modules/auth/auth.schemas';

export const AcceptInvitationBody = closed({
  token: Token,
  password: Type.Optional(
    Type.With(NewPassword, { description: 'Password of the account; only for an account without one.' }),
  ),
});
export type AcceptInvitationBody = Static<typeof AcceptInvitationBody>;

export const Joined = closed({
  message: Type.String(),
  data: closed({ tenantId: Uuid, tenantName: Type.String() }),
});

export const OwnInvitations = listOf(
  closed(
    {
      id: Uuid,
      tenantId: Uuid,
      tenantName: Type.String(),
      invited_at: Type.With(Timestamp, { description: 'Time of the invitation (RFC 3339, UTC).' }),
      expires_at: Timestamp,
    },
    { title: 'OwnInvitation' },
  ),
);

export const VerifyEmailBody = closed({ token: Token });

export const DisownAccountBody = closed({ token: Token });

export const SwitchTenantBody = closed({ tenantId: Type.With(Uuid, { description: 'Tenant to switch to.' }) });

export const OwnTenants = listOf(
  closed(
    {
      id: Uuid,
      name: Type.String(),
      domain: TenantDomain,
      current: Type.Boolean({ description: 'Whether the session of this request belongs to it.' }),
    },
    { title: 'OwnTenant', description: 'Tenant that the caller can switch to.' },
  ),
);
