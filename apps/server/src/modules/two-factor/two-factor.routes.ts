import { access } from '#core/base/access/access';
import { AssuranceLimitedToTenant } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  MessageNotDelivered,
  NoDeliveryChannel,
  OperationDisabled,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { enableMethod, getStatus, sendCode } from '#modules/two-factor/enrolment.service';
import { resetMember } from '#modules/two-factor/reset.service';
import {
  AccountInOtherTenants,
  CodeRefused,
  EmailTargetRefused,
  FactorEnabled,
  FactorNotEnabled,
  FactorOfOtherTenant,
  LastFactorRequired,
  MemberNotActive,
  MemberNotFound,
  NoFactorEnabled,
  NoMailServer,
  SelfResetNotAllowed,
  PhoneTargetRefused,
  TooManyCodes,
  TooManyGuesses,
} from '#modules/two-factor/two-factor.errors';
import * as schemas from '#modules/two-factor/two-factor.schemas';
import {
  disableMethod,
  regenerateBackupCodes,
  useBackupCode,
  verifyCode,
} from '#modules/two-factor/verification.service';
import { RoleAboveOwn } from '#modules/users/index';

const root = '/api/v1/secure/auth/2fa';
const undelivered = [
  NoMailServer,
  NoDeliveryChannel,
  ProvidersRefused,
  MessageNotDelivered,
  OperationDisabled,
  QuotaExceeded,
];
const beforeStepUp = access.person({ missingFactors: 'any' });
const disabling = {
  summary: 'Disable a second factor with a code and revoke all other sessions',
  access: access.person(),
  schema: { body: schemas.CodeBody, response: { 204: null } },
  errors: [FactorNotEnabled, LastFactorRequired, AssuranceLimitedToTenant, CodeRefused, TooManyGuesses],
  audit: 'two_factor.disabled',
} as const;

export const twoFactorRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: `${root}/status`,
    operationId: 'getTwoFactorStatus',
    summary: 'Get the second factors of the caller',
    access: beforeStepUp,
    schema: { response: { 200: schemas.TwoFactorStatus } },
    handler: ({ actor, services }) => getStatus({ services, actor }),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/enable/{method}`,
    operationId: 'enableTwoFactor',
    summary: 'Start the enrolment of a second factor; its first code completes it',
    access: access.person({ missingFactors: 'enrolling' }),
    schema: {
      params: schemas.EnableParams,
      body: schemas.EnableBody,
      response: { 200: schemas.EnableAnswer },
    },
    errors: [
      FactorEnabled,
      AssuranceLimitedToTenant,
      ...undelivered,
      EmailTargetRefused,
      PhoneTargetRefused,
      TooManyCodes,
    ],
    audit: { none: 'the enrolment is recorded when its first code completes it' },
    handler: ({ actor, body, params, services }) => enableMethod({ services, actor }, params.method, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/send-code`,
    operationId: 'sendTwoFactorCode',
    summary: 'Send a new code of a second factor; older codes become invalid',
    access: beforeStepUp,
    schema: { body: schemas.SendCodeBody, response: { 200: schemas.SendCodeAnswer } },
    errors: [FactorNotEnabled, FactorOfOtherTenant, ...undelivered, TooManyCodes],
    audit: { none: 'sending a code changes nothing; its use is recorded' },
    handler: ({ actor, body, services }) => sendCode({ services, actor }, body.method),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/verify`,
    operationId: 'verifyTwoFactor',
    summary: 'Verify a code for the step-up of the session or for an enrolment',
    access: beforeStepUp,
    schema: { body: schemas.CodeBody, response: { 200: schemas.VerifyAnswer } },
    errors: [FactorNotEnabled, CodeRefused, TooManyGuesses],
    audit: 'two_factor.verified',
    handler: ({ actor, body, services }) => verifyCode({ services, actor }, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/use-backup`,
    operationId: 'useBackupCode',
    summary: 'Verify a backup code, once, for the step-up of the session',
    access: beforeStepUp,
    schema: { body: schemas.BackupCodeBody, response: { 200: schemas.BackupCodeAnswer } },
    errors: [FactorNotEnabled, CodeRefused, TooManyGuesses],
    audit: 'two_factor.backup_code_used',
    handler: ({ actor, body, services }) => useBackupCode({ services, actor }, body.code),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/backup-codes`,
    operationId: 'regenerateBackupCodes',
    summary: 'Replace all backup codes',
    access: access.person(),
    schema: { response: { 200: schemas.BackupCodesAnswer } },
    errors: [NoFactorEnabled, AssuranceLimitedToTenant],
    audit: 'two_factor.backup_codes_regenerated',
    handler: ({ actor, services }) => regenerateBackupCodes({ services, actor }),
  }),
  defineRoute({
    ...disabling,
    method: 'DELETE',
    path: `${root}/disable`,
    operationId: 'disableTwoFactor',
    handler: ({ actor, body, services }) => disableMethod({ services, actor }, body),
  }),
  defineRoute({
    ...disabling,
    method: 'POST',
    path: `${root}/disable`,
    operationId: 'disableTwoFactorByPost',
    summary: 'Disable a second factor by POST, for gateways that drop the body of a DELETE',
    handler: ({ actor, body, services }) => disableMethod({ services, actor }, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/users/{id}/two-factor',
    operationId: 'resetTwoFactor',
    summary: 'Reset all second factors of a user and revoke the sessions of the user',
    access: access.permission('users.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [MemberNotFound, MemberNotActive, RoleAboveOwn, SelfResetNotAllowed, AccountInOtherTenants],
    audit: 'two_factor.reset',
    handler: ({ actor, params, services }) => resetMember(services, actor, params.id),
  }),
];
