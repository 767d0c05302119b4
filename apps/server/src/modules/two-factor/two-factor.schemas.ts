import Type, { type Static } from 'typebox';

import { Timestamp, closed, dataOf, nullable } from '#core/base/schemas';

const Method = Type.Enum(['totp', 'sms', 'email', 'chatapp'], { description: 'Kind of the second factor.' });
export type Method = Static<typeof Method>;
const DeliveredMethod = Type.Enum(['sms', 'email', 'chatapp'], {
  description: 'Kind of the second factor, one whose codes are delivered.',
});
export type DeliveredMethod = Static<typeof DeliveredMethod>;

const Code = Type.String({
  minLength: 6,
  maxLength: 8,
  description: 'Code of the second factor, or a backup code to disable it.',
});

export const EnableParams = closed({ method: Method });
export const EnableBody = nullable(
  closed({
    delivery_target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'Phone number for sms and chatapp, e-mail address for email; by default the one of the profile.',
      }),
    ),
  }),
);
export type EnableBody = Static<typeof EnableBody>;

export const CodeBody = closed({ method: Method, code: Code });
export type CodeBody = Static<typeof CodeBody>;
export const SendCodeBody = closed({ method: DeliveredMethod });
export const BackupCodeBody = closed({
  code: Type.String({ minLength: 8, maxLength: 12, description: 'Unused backup code.' }),
});

function answerOf<const Data extends Parameters<typeof dataOf>[0]>(data: Data) {
  return closed({ success: Type.Boolean(), message: Type.String(), data });
}

const BackupCodes = Type.Array(Type.String(), {
  description: 'New backup codes, 8 characters each; only this answer shows them.',
});
const seconds = Type.Integer({ description: 'Lifetime of the code in seconds.' });

const TotpSetup = closed(
  {
    method: Type.Literal('totp', { description: 'Kind of the second factor.' }),
    secret: Type.String({ description: 'Secret of the authenticator app (Base32); only this answer shows it.' }),
    qr_code_uri: Type.String({ description: '`otpauth` URI for an authenticator app.' }),
    qr_code_data_url: Type.String({ description: 'QR code of the URI, a PNG as a `data:` URL.' }),
    backup_codes: BackupCodes,
  },
  { title: 'TotpSetup' },
);
const DeliverySetup = closed(
  {
    method: DeliveredMethod,
    delivery_target: Type.String({ description: 'Masked phone number or e-mail address of the codes.' }),
    verification_sent: Type.Boolean({ description: 'Whether the code was sent.' }),
    expires_in_seconds: seconds,
  },
  { title: 'DeliverySetup' },
);

export const EnableAnswer = answerOf(Type.Union([TotpSetup, DeliverySetup]));
export const VerifyAnswer = answerOf(
  closed({
    method: Method,
    verified: Type.Boolean({ description: 'Whether the code was correct.' }),
    enabled: Type.Boolean({ description: 'Whether the second factor is enabled.' }),
  }),
);
export const SendCodeAnswer = answerOf(
  closed({ sent: Type.Boolean({ description: 'Whether the code was sent.' }), expires_in_seconds: seconds }),
);
export const BackupCodesAnswer = answerOf(
  closed({ backup_codes: BackupCodes, count: Type.Integer({ description: 'Number of new backup codes.' }) }),
);
export const BackupCodeAnswer = answerOf(
  closed({
    used: Type.Boolean({ description: 'Whether the backup code was accepted and used up.' }),
    remaining: Type.Integer({ description: 'Number of unused backup codes.' }),
  }),
);

const EnabledMethod = closed(
  {
    method: Method,
    enabled_at: Type.With(Timestamp, { description: 'Time at which it was enabled (RFC 3339, UTC).' }),
    last_used_at: nullable(Timestamp),
    delivery_target_masked: Type.With(nullable(Type.String()), {
      description: 'Masked phone number or e-mail address of the codes; null for `totp`.',
    }),
  },
  { title: 'EnabledTwoFactorMethod' },
);
export const TwoFactorStatus = dataOf(
  closed(
    {
      enabled_methods: Type.Array(EnabledMethod, { description: 'Second factors of the caller.' }),
      backup_codes_remaining: Type.Integer({ description: 'Number of unused backup codes.' }),
      requires_2fa: Type.Boolean({ description: 'Whether the tenant requires a second factor.' }),
    },
    { title: 'TwoFactorStatus' },
  ),
);
