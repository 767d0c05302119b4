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

/** For lines whose fields are all our own words and ids: nothing in them can be a secret, so nothing is searched for one. */
export function withoutRedaction(log: Log): Log {
  return log.child({}, { redact: [] });
}

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
    options.destination ?? pino.destination({ sync: false, minLength: 8192, periodicFlush: 200 }),
  );
}
