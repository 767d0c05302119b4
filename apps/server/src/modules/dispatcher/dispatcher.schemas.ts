import Type, { type Static } from 'typebox';

import { Timestamp, TimeZone, Uuid, closed, dataOf, listOf, nullable, pageOf, paging } from '#core/base/schemas';
import { alertSeverities, alertTypes } from '#core/platform/jobs/alerts.queries';
import { catchUpPolicies } from '#core/platform/jobs/slots';

const Overall = Type.Enum(['healthy', 'degraded'], {
  description: 'State of the installation; `healthy` if all services are.',
});
const serviceState = {
  service_name: Type.String({ description: 'Name of the service, such as `database`.' }),
  status: Type.Enum(['healthy', 'degraded', 'unhealthy'], { description: 'State of the service.' }),
  message: Type.String(),
};

const HealthStatus = closed(
  { overall: Overall, services: Type.Array(closed(serviceState), { description: 'Services and their states.' }) },
  { title: 'DispatcherHealthStatus', description: 'Health at the time of the dispatch.' },
);

const outcome = {
  run_id: Type.String({ format: 'uuid', description: 'Dispatch, by identifier.' }),
  started_at: Timestamp,
  completed_at: Timestamp,
  duration_ms: Type.Integer(),
  jobs_executed: Type.Integer({ description: 'Number of runs that were started, including those still running.' }),
  jobs_failed: Type.Integer({ description: 'Number of runs that failed.' }),
};

/** The answer to the caller that started a dispatch. */
export const DispatchAnswer = closed({
  success: Type.Boolean(),
  data: closed(
    {
      ...outcome,
      jobs_skipped: Type.Integer({
        description: 'Number of due jobs that were already running or just started by another process.',
      }),
      health_status: HealthStatus,
      alerts_sent: Type.Integer({ description: 'Number of new alerts; repeated ones are not counted.' }),
    },
    { title: 'DispatcherRun' },
  ),
});

export const DispatcherHealth = closed(
  {
    overall: Overall,
    timestamp: Timestamp,
    services: Type.Array(closed({ ...serviceState, timestamp: Timestamp }), {
      description: 'Services and their states.',
    }),
  },
  { title: 'DispatcherHealth' },
);

const { completed_at: _completedAt, ...recent } = outcome;

export const DispatcherStatus = closed(
  {
    enabled: Type.Boolean({ description: 'Whether at least one job is enabled.' }),
    mode: Type.Enum(['serverless', 'hosted-scheduler'], {
      description:
        'Source of dispatches. serverless: an external scheduler called within the last two minutes. hosted-scheduler: the processes of the service.',
    }),
    last_run: nullable(closed({ ...outcome, health_status: HealthStatus }), {
      description: 'Latest dispatch that ended; null before the first one.',
    }),
    recent_runs: Type.Array(closed(recent), { description: 'Latest dispatches that ended, at most 20.' }),
    recent_alerts: Type.Array(
      closed({
        id: Uuid,
        type: Type.Enum([...alertTypes], { description: 'Cause of the alert.' }),
        severity: Type.Enum([...alertSeverities], { description: 'Severity of the alert.' }),
        title: Type.String({ description: 'Short text for operators.' }),
        message: Type.String(),
        acknowledged: Type.Boolean({ description: 'Whether an operator acknowledged the alert.' }),
        created_at: Timestamp,
      }),
      { description: 'Open alerts and alerts that were resolved within 24 hours, at most 50.' },
    ),
  },
  { title: 'DispatcherStatus' },
);

export const Acknowledged = closed({ success: Type.Boolean(), message: Type.String() });

const catchUp =
  'Policy for missed scheduled times. skip: none runs. run_once: one run for all of them. all: one run for each.';

const JobRun = closed(
  {
    id: Uuid,
    job_name: Type.String({ description: 'Name of the job.' }),
    trigger: Type.Enum(['schedule', 'catch_up', 'manual'], { description: 'Cause of the run.' }),
    slot: nullable(Timestamp, { description: 'Scheduled time (RFC 3339, UTC); null for a manual run.' }),
    status: Type.Enum(['running', 'succeeded', 'failed'], { description: 'State of the run.' }),
    attempt: Type.Integer({ description: 'Number of the attempt for this scheduled time, beginning with 1.' }),
    started_at: Timestamp,
    completed_at: nullable(Timestamp),
    duration_ms: nullable(Type.Integer(), { description: 'Duration in milliseconds; null while the run lasts.' }),
    error: nullable(Type.String(), { description: 'Error of a failed run; null otherwise.' }),
    output: nullable(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Result of the run, such as counts; null without a result.',
    }),
  },
  { title: 'JobRun' },
);

const Job = closed(
  {
    name: Type.String({ description: 'Name of the job.' }),
    description: Type.String({ description: 'What the job does.' }),
    enabled: Type.Boolean({ description: 'Whether the job runs on its schedule.' }),
    schedule: Type.String({ description: 'Cron expression: minute hour day month weekday.' }),
    timezone: Type.String({ description: 'IANA time zone of the schedule.' }),
    catch_up: Type.Enum([...catchUpPolicies], { description: catchUp }),
    default_schedule: Type.String({ description: 'Default schedule, in UTC.' }),
    timeout_ms: Type.Integer({ description: 'Timeout of a run in milliseconds.' }),
    next_slot: nullable(Timestamp, {
      description: 'Next scheduled time (RFC 3339, UTC); null while the job is disabled.',
    }),
    last_run: nullable(JobRun, { description: 'Latest run; null if the job never ran.' }),
    last_error: nullable(Type.String(), { description: 'Error of the latest run; null if it succeeded.' }),
    consecutive_failures: Type.Integer({ description: 'Failed runs since the latest success.' }),
  },
  { title: 'ScheduledJob' },
);

export const JobList = listOf(Job);
export const JobAnswer = dataOf(Job);
export const JobRunAnswer = dataOf(JobRun);
export const JobRunPage = pageOf(JobRun);

export const JobParams = closed({
  name: Type.String({ pattern: '^[a-z0-9-]{1,64}$', description: 'Name of the job.' }),
});

export const JobRunsQuery = closed({
  ...paging,
  status: Type.Optional(Type.Enum(['running', 'succeeded', 'failed'], { description: 'State of the runs to list.' })),
});
export type JobRunsQuery = Static<typeof JobRunsQuery>;

/** `null` restores the default of the job. */
export const UpdateJobBody = closed(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Whether the job runs on its schedule.' })),
    schedule: Type.Optional(
      nullable(Type.String({ minLength: 9, maxLength: 100 }), {
        description: 'Cron expression: minute hour day month weekday; null for the default.',
      }),
    ),
    timezone: Type.Optional(
      nullable(TimeZone, { description: 'IANA time zone of the schedule; null for the default.' }),
    ),
    catch_up: Type.Optional(
      nullable(Type.Enum([...catchUpPolicies]), { description: `${catchUp} null: the default of the job.` }),
    ),
  },
  { minProperties: 1 },
);
export type UpdateJobBody = Static<typeof UpdateJobBody>;
