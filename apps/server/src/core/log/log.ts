import pino, { type DestinationStream } from 'pino';

export type Log = pino.Logger;

const secretKeys = [
  'password',
  'secret',
  'token',
  'accessToken',
  'refreshToken',
  'authorization',
  'cookie',
  'fullKey',
  'code',
  'private_key',
];

/** JSON lines on standard output; secrets are blanked by key, two levels deep. */
export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[redacted]' },
    },
    options.destination ?? pino.destination({ sync: false }),
  );
}
