import { access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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
  AccountOfOtherTenants,
  CodeRefused,
  EmailTargetRefused,
  FactorEnabled,
  FactorNotEnabled,
  LastFactorRequired,
  MemberNotActive,
  MemberNotFound,
  NoFactorEnabled,
  NoMailServer,
  OwnFactors,
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
const whileOwing = access.person({ owing: 'any' });
const disabling = {
  summary: 'Disable a second factor with one of its codes or a backup code; all other sessions end',
  access: access.person(),
  schema: { body: schemas.CodeBody, response: { 204: null } },
  errors: [FactorNotEnabled, LastFactorRequired, CodeRefused, TooManyGuesses],
  audit: 'two_factor.disabled',
} as const;

export const twoFactorRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: `${root}/status`,
    operationId: 'getTwoFactorStatus',
    summary: 'The own second factors, and whether the tenant requires one',
    access: whileOwing,
    schema: { response: { 200: schemas.TwoFactorStatus } },
    handler: ({ actor, services }) => getStatus({ services, actor }),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/enable/{method}`,
    operationId: 'enableTwoFactor',
    summary: 'Begin to set up a second factor; its first code to /verify completes it',
    access: access.person({ owing: 'enrolling' }),
    schema: {
      params: schemas.EnableParams,
      body: schemas.EnableBody,
      response: { 200: schemas.EnableAnswer },
    },
    errors: [FactorEnabled, ...undelivered, EmailTargetRefused, PhoneTargetRefused, TooManyCodes],
    audit: { none: 'nothing counts before the first code; that is recorded' },
    handler: ({ actor, body, params, services }) => enableMethod({ services, actor }, params.method, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/send-code`,
    operationId: 'sendTwoFactorCode',
    summary: 'Send a code to where a second factor delivers; an older one is void',
    access: whileOwing,
    schema: { body: schemas.SendCodeBody, response: { 200: schemas.SendCodeAnswer } },
    errors: [FactorNotEnabled, ...undelivered, TooManyCodes],
    audit: { none: 'a code on its way changes nothing; its use is recorded' },
    handler: ({ actor, body, services }) => sendCode({ services, actor }, body.method),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/verify`,
    operationId: 'verifyTwoFactor',
    summary: 'Give a code: it lifts the session, or completes the set-up of a second factor',
    access: whileOwing,
    schema: { body: schemas.CodeBody, response: { 200: schemas.VerifyAnswer } },
    errors: [FactorNotEnabled, CodeRefused, TooManyGuesses],
    audit: 'two_factor.verified',
    handler: ({ actor, body, services }) => verifyCode({ services, actor }, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/use-backup`,
    operationId: 'useBackupCode',
    summary: 'Lift the session with a backup code, which is used up',
    access: whileOwing,
    schema: { body: schemas.BackupCodeBody, response: { 200: schemas.BackupCodeAnswer } },
    errors: [FactorNotEnabled, CodeRefused, TooManyGuesses],
    audit: 'two_factor.backup_code_used',
    handler: ({ actor, body, services }) => useBackupCode({ services, actor }, body.code),
  }),
  defineRoute({
    method: 'POST',
    path: `${root}/backup-codes`,
    operationId: 'regenerateBackupCodes',
    summary: 'Void all backup codes and hand out new ones',
    access: access.person(),
    schema: { response: { 200: schemas.BackupCodesAnswer } },
    errors: [NoFactorEnabled],
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
    summary: 'The same, for gateways that drop the body of a DELETE',
    handler: ({ actor, body, services }) => disableMethod({ services, actor }, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/users/{id}/two-factor',
    operationId: 'resetTwoFactor',
    summary: 'Take all second factors from a member who lost them; the member’s sessions end',
    access: access.permission('users.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [MemberNotFound, MemberNotActive, RoleAboveOwn, OwnFactors, AccountOfOtherTenants],
    audit: 'two_factor.reset',
    handler: ({ actor, params, services }) => resetMember(services, actor, params.id),
  }),
];
