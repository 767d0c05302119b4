import { defineError } from '#core/base/errors/app-error';

export const DispatcherSecretRequired = defineError(
  'AUTHENTICATION_ERROR',
  'Send the dispatcher secret in x-dispatcher-secret, in x-cron-secret or as "Authorization: Bearer <secret>".',
);
export const DispatcherNotConfigured = defineError(
  'SERVICE_UNAVAILABLE',
  'No dispatcher secret is configured: set DISPATCHER_SECRET and start the service again.',
);
export const JobIsRunning = defineError(
  'CONFLICT',
  'The job is already running. List its runs, and retry when it has ended.',
  'JOB_IS_RUNNING',
  30,
);
