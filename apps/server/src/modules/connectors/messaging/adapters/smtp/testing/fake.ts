import type { MailFake } from '#modules/connectors/messaging/adapters/testing/mail-provider';

const account = {
  channels: ['email'],
  config: { from: 'Atrium <no-reply@atrium.example>' },
  credentials: { user: 'atrium', password: 'canary password' },
  wrongCredentials: { user: 'atrium', password: 'canary of another account' },
} as const;

/** A mail server as RFC 5321, 3207 and 4954 describe it; it refuses logins before TLS. */
export const smtpFake: MailFake = { ...account, adapter: 'smtp', tls: false };

/** The same with TLS from the first byte (RFC 8314). */
export const smtpsFake: MailFake = { ...account, adapter: 'smtp', tls: true };
