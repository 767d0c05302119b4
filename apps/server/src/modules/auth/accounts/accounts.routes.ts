import { access } from '#core/base/access/access';
import { AssuranceLimitedToTenant } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import * as schemas from '#modules/auth/accounts/accounts.schemas';
import { disownAccount } from '#modules/auth/accounts/disowning.service';
import {
  acceptInvitation,
  acceptOwnInvitation,
  declineOwnInvitation,
  listOwnInvitations,
} from '#modules/auth/accounts/invitations.service';
import { listOwnTenants, switchTenant } from '#modules/auth/accounts/own-tenants.service';
import { resendVerification, verifyEmail } from '#modules/auth/accounts/verification.service';
import {
  EmailVerified,
  InvitationNotFound,
  OneTimeTokenRefused,
  PasswordAlreadySet,
  PasswordRequired,
  TenantNotFound,
  TooManyVerifications,
} from '#modules/auth/auth.errors';
import { LoggedIn, Message } from '#modules/auth/auth.schemas';

/** Operations on the account of the caller: address, invitations and tenants. */
export const accountRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/accept-invitation',
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation with the token of its mail',
    access: access.public('the mailed token is the credential'),
    schema: { body: schemas.AcceptInvitationBody, response: { 200: schemas.Joined } },
    errors: [OneTimeTokenRefused, PasswordRequired, PasswordAlreadySet],
    audit: 'user.joined',
    handler: ({ body, request, services }) => acceptInvitation(services, body, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/verify-email',
    operationId: 'verifyEmail',
    summary: 'Verify the e-mail address of an account with the token of a mail',
    access: access.public('the mailed token is the credential'),
    schema: { body: schemas.VerifyEmailBody, response: { 200: Message } },
    errors: [OneTimeTokenRefused],
    audit: 'auth.email_verified',
    handler: async ({ body, request, services }) => {
      await verifyEmail(services, body.token, request);
      return { message: 'The address is verified.' };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/disown-account',
    operationId: 'disownAccount',
    summary: 'Release your e-mail address from an account of another person with the token of a mail',
    access: access.public('the mailed token is the credential'),
    schema: { body: schemas.DisownAccountBody, response: { 200: Message } },
    errors: [OneTimeTokenRefused],
    audit: 'auth.account_disowned',
    handler: async ({ body, request, services }) => {
      await disownAccount(services, body.token, request);
      return { message: 'The account is closed. You can register with your address.' };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/resend-verification',
    operationId: 'resendVerification',
    summary: 'Send another mail to verify your e-mail address',
    access: access.person(),
    schema: { response: { 200: Message } },
    errors: [EmailVerified, TooManyVerifications],
    audit: 'auth.email_verification_requested',
    handler: async ({ actor, services }) => {
      await resendVerification(services, actor);
      return { message: 'A mail with a link has been sent.' };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/invitations',
    operationId: 'listOwnInvitations',
    summary: 'List the open invitations of the caller, if the e-mail address is verified',
    access: access.person(),
    schema: { response: { 200: schemas.OwnInvitations } },
    handler: ({ actor, services }) => listOwnInvitations(services, actor),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/invitations/{id}/accept',
    operationId: 'acceptOwnInvitation',
    summary: 'Accept an invitation of the caller',
    access: access.person(),
    schema: { params: IdParams, response: { 200: schemas.Joined } },
    errors: [InvitationNotFound, AssuranceLimitedToTenant],
    audit: 'user.joined',
    handler: ({ actor, params, services }) => acceptOwnInvitation(services, actor, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/invitations/{id}/decline',
    operationId: 'declineOwnInvitation',
    summary: 'Decline an invitation',
    access: access.person(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [InvitationNotFound, AssuranceLimitedToTenant],
    audit: 'user.declined',
    handler: ({ actor, params, services }) => declineOwnInvitation(services, actor, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/tenants',
    operationId: 'listOwnTenants',
    summary: 'List the tenants that the caller can switch to',
    access: access.person(),
    schema: { response: { 200: schemas.OwnTenants } },
    handler: ({ actor, services }) => listOwnTenants(services, actor),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/switch-tenant',
    operationId: 'switchTenant',
    summary: 'Start a session in another tenant of the caller',
    access: access.person(),
    schema: { body: schemas.SwitchTenantBody, response: { 200: LoggedIn } },
    errors: [TenantNotFound],
    audit: 'auth.login',
    handler: ({ actor, body, services }) => switchTenant(services, actor, body.tenantId),
  }),
];
