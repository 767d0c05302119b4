import Type, { type Static } from 'typebox';

import { Timestamp, TimeZone, Uuid, closed, dataOf, listOf, nullable, pageOf, paging } from '#core/http/schemas';
import { alertSeverities, alertTypes } from '#core/jobs/alerts.queries';
import { catchUpPolicies } from '#core/jobs/slots';

const Overall = Type.Enum(['healthy', 'degraded']);
const serviceState = {
  service_name: Type.String(),
  status: Type.Enum(['healthy', 'degraded', 'unhealthy']),
  message: Type.String(),
};

const HealthStatus = closed(
  { overall: Overall, services: Type.Array(closed(serviceState)) },
  { title: 'DispatcherHealthStatus' },
);

const outcome = {
  run_id: Uuid,
  started_at: Timestamp,
  completed_at: Timestamp,
  duration_ms: Type.Integer(),
  jobs_executed: Type.Integer({ description: 'Runs that were started, those included that have not ended yet.' }),
  jobs_failed: Type.Integer(),
};

/** What is shown of a dispatch by the one who asked for it. */
export const DispatchAnswer = closed({
  success: Type.Boolean(),
  data: closed(
    {
      ...outcome,
      jobs_skipped: Type.Integer({ description: 'Jobs that run already, or that somebody else has just started.' }),
      health_status: HealthStatus,
      alerts_sent: Type.Integer({ description: 'New alerts; what was seen before is not counted.' }),
    },
    { title: 'DispatcherRun' },
  ),
});

export const DispatcherHealth = closed(
  { overall: Overall, timestamp: Timestamp, services: Type.Array(closed({ ...serviceState, timestamp: Timestamp })) },
  { title: 'DispatcherHealth' },
);

const { completed_at: _completedAt, ...recent } = outcome;

export const DispatcherStatus = closed(
  {
    enabled: Type.Boolean({ description: 'False when every job is switched off.' }),
    mode: Type.Enum(['serverless', 'hosted-scheduler'], {
      description:
        'serverless: somebody outside has called within two minutes. Otherwise the processes drive themselves.',
    }),
    last_run: nullable(closed({ ...outcome, health_status: HealthStatus })),
    recent_runs: Type.Array(closed(recent)),
    recent_alerts: Type.Array(
      closed({
        id: Uuid,
        type: Type.Enum([...alertTypes]),
        severity: Type.Enum([...alertSeverities]),
        title: Type.String(),
        message: Type.String(),
        acknowledged: Type.Boolean(),
        created_at: Timestamp,
      }),
    ),
  },
  { title: 'DispatcherStatus' },
);

export const Acknowledged = closed({ success: Type.Boolean(), message: Type.String() });

const JobRun = closed(
  {
    id: Uuid,
    job_name: Type.String(),
    trigger: Type.Enum(['schedule', 'catch_up', 'manual']),
    slot: nullable(Timestamp),
    status: Type.Enum(['running', 'succeeded', 'failed']),
    attempt: Type.Integer(),
    started_at: Timestamp,
    completed_at: nullable(Timestamp),
    duration_ms: nullable(Type.Integer()),
    error: nullable(Type.String()),
    output: nullable(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: 'JobRun' },
);

const Job = closed(
  {
    name: Type.String(),
    description: Type.String(),
    enabled: Type.Boolean(),
    schedule: Type.String(),
    timezone: Type.String(),
    catch_up: Type.Enum([...catchUpPolicies]),
    default_schedule: Type.String({ description: 'What the job comes with, in UTC.' }),
    timeout_ms: Type.Integer(),
    next_slot: nullable(Timestamp),
    last_run: nullable(JobRun),
    last_error: nullable(Type.String({ description: 'Of the last run, if it failed.' })),
    consecutive_failures: Type.Integer(),
  },
  { title: 'ScheduledJob' },
);

export const JobList = listOf(Job);
export const JobAnswer = dataOf(Job);
export const JobRunAnswer = dataOf(JobRun);
export const JobRunPage = pageOf(JobRun);

export const JobParams = closed({ name: Type.String({ pattern: '^[a-z0-9-]{1,64}$' }) });

export const JobRunsQuery = closed({
  ...paging,
  status: Type.Optional(Type.Enum(['running', 'succeeded', 'failed'])),
});
export type JobRunsQuery = Static<typeof JobRunsQuery>;

/** `null` goes back to what the job comes with. */
export const UpdateJobBody = closed(
  {
    enabled: Type.Optional(Type.Boolean()),
    schedule: Type.Optional(
      nullable(Type.String({ minLength: 9, maxLength: 100, description: 'minute hour day month weekday' })),
    ),
    timezone: Type.Optional(nullable(TimeZone)),
    catch_up: Type.Optional(nullable(Type.Enum([...catchUpPolicies]))),
  },
  { minProperties: 1 },
);
export type UpdateJobBody = Static<typeof UpdateJobBody>;
