import Type, { type Static } from 'typebox';

import { Timestamp, closed, dataOf, nullable } from '#core/http/schemas';

const Method = Type.Enum(['totp', 'sms', 'email', 'chatapp']);
export type Method = Static<typeof Method>;
const DeliveredMethod = Type.Enum(['sms', 'email', 'chatapp']);
export type DeliveredMethod = Static<typeof DeliveredMethod>;

const Code = Type.String({ minLength: 6, maxLength: 8 });

export const EnableParams = closed({ method: Method });
export const EnableBody = nullable(
  closed({
    delivery_target: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'Phone number for sms and chatapp, e-mail address for email; by default those of the profile.',
      }),
    ),
  }),
);
export type EnableBody = Static<typeof EnableBody>;

export const CodeBody = closed({ method: Method, code: Code });
export type CodeBody = Static<typeof CodeBody>;
export const SendCodeBody = closed({ method: DeliveredMethod });
export const BackupCodeBody = closed({ code: Type.String({ minLength: 8, maxLength: 12 }) });

function answerOf<const Data extends Parameters<typeof dataOf>[0]>(data: Data) {
  return closed({ success: Type.Boolean(), message: Type.String(), data });
}

const BackupCodes = Type.Array(Type.String(), { description: 'Shown this once.' });
const seconds = Type.Integer({ description: 'Seconds' });

const TotpSetup = closed(
  {
    method: Type.Literal('totp'),
    secret: Type.String({ description: 'Base32, shown this once.' }),
    qr_code_uri: Type.String({ description: 'otpauth URI' }),
    qr_code_data_url: Type.String({ description: 'The URI as a QR code, PNG.' }),
    backup_codes: BackupCodes,
  },
  { title: 'TotpSetup' },
);
const DeliverySetup = closed(
  {
    method: DeliveredMethod,
    delivery_target: Type.String({ description: 'Masked' }),
    verification_sent: Type.Boolean(),
    expires_in_seconds: seconds,
  },
  { title: 'DeliverySetup' },
);

export const EnableAnswer = answerOf(Type.Union([TotpSetup, DeliverySetup]));
export const VerifyAnswer = answerOf(closed({ method: Method, verified: Type.Boolean(), enabled: Type.Boolean() }));
export const SendCodeAnswer = answerOf(closed({ sent: Type.Boolean(), expires_in_seconds: seconds }));
export const BackupCodesAnswer = answerOf(closed({ backup_codes: BackupCodes, count: Type.Integer() }));
export const BackupCodeAnswer = answerOf(closed({ used: Type.Boolean(), remaining: Type.Integer() }));

const EnabledMethod = closed(
  {
    method: Method,
    enabled_at: Timestamp,
    last_used_at: nullable(Timestamp),
    delivery_target_masked: nullable(Type.String()),
  },
  { title: 'EnabledTwoFactorMethod' },
);
export const TwoFactorStatus = dataOf(
  closed(
    {
      enabled_methods: Type.Array(EnabledMethod),
      backup_codes_remaining: Type.Integer(),
      requires_2fa: Type.Boolean({ description: 'The tenant requires a second factor.' }),
    },
    { title: 'TwoFactorStatus' },
  ),
);
