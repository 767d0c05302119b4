import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, listOf } from '#core/http/schemas';
import { NewPassword, Token } from '#modules/auth/auth.schemas';

export const AcceptInvitationBody = closed({
  token: Token,
  password: Type.Optional(NewPassword),
});
export type AcceptInvitationBody = Static<typeof AcceptInvitationBody>;

export const Joined = closed({
  message: Type.String(),
  data: closed({ tenantId: Uuid, tenantName: Type.String() }),
});

export const OwnInvitations = listOf(
  closed(
    { id: Uuid, tenantId: Uuid, tenantName: Type.String(), invited_at: Timestamp, expires_at: Timestamp },
    { title: 'OwnInvitation' },
  ),
);

export const VerifyEmailBody = closed({ token: Token });

export const SwitchTenantBody = closed({ tenantId: Uuid });

export const OwnTenants = listOf(
  closed(
    { id: Uuid, name: Type.String(), domain: Type.String(), current: Type.Boolean() },
    { title: 'OwnTenant', description: 'A tenant that the person can switch to.' },
  ),
);
