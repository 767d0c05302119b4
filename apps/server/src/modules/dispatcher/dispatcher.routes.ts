import { access } from '#core/access/access';
import { defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { DispatcherNotConfigured, DispatcherSecretRequired, JobIsRunning } from '#core/jobs/errors';
import { AlertNotFound, JobNotFound, ScheduleInvalid } from '#modules/dispatcher/dispatcher.errors';
import * as schemas from '#modules/dispatcher/dispatcher.schemas';
import {
  acknowledge,
  getDispatcherHealth,
  getDispatcherStatus,
  runDispatcher,
} from '#modules/dispatcher/dispatcher.service';
import { listJobRuns, listJobs, runJob, updateJob } from '#modules/dispatcher/jobs.service';

const base = '/api/v1/system/dispatcher';
const jobs = `${base}/jobs` as const;

export const dispatcherRoutes = [
  defineRoute({
    method: 'POST',
    path: `${base}/run`,
    operationId: 'runDispatcher',
    summary: 'Run the scheduled jobs that are due; for a scheduler outside, each minute',
    access: access.dispatcher(),
    hasBriefErrors: true,
    schema: { response: { 200: schemas.DispatchAnswer } },
    errors: [DispatcherSecretRequired, DispatcherNotConfigured],
    audit: { none: 'the history of dispatches keeps it' },
    handler: ({ services }) => runDispatcher(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/health`,
    operationId: 'getDispatcherHealth',
    summary: 'How the parts of the installation do',
    access: access.public('monitors have no credentials, and it says no more than health'),
    hasBriefErrors: true,
    schema: { response: { 200: schemas.DispatcherHealth } },
    handler: ({ services }) => getDispatcherHealth(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/status`,
    operationId: 'getDispatcherStatus',
    summary: 'Who drives the scheduled jobs, the last dispatches, and what went wrong',
    access: access.dispatcher(),
    hasBriefErrors: true,
    schema: { response: { 200: schemas.DispatcherStatus } },
    errors: [DispatcherSecretRequired, DispatcherNotConfigured],
    handler: ({ services }) => getDispatcherStatus(services),
  }),
  defineRoute({
    method: 'POST',
    path: `${base}/alerts/{id}/acknowledge`,
    operationId: 'acknowledgeDispatcherAlert',
    summary: 'Take note of an alert; whoever does so first is kept',
    access: access.dispatcher({ orSystemAdmin: true }),
    hasBriefErrors: true,
    schema: { params: IdParams, response: { 200: schemas.Acknowledged } },
    errors: [AlertNotFound, DispatcherSecretRequired, DispatcherNotConfigured],
    audit: { none: 'the alert keeps who took note of it and when' },
    handler: ({ actor, params, services }) => acknowledge(services, params.id, actor),
  }),
  defineRoute({
    method: 'GET',
    path: jobs,
    operationId: 'listScheduledJobs',
    summary: 'The scheduled jobs, when each comes next, and how its last run went',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.JobList } },
    handler: ({ services }) => listJobs(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${jobs}/{name}/runs`,
    operationId: 'listScheduledJobRuns',
    summary: 'The runs of a job, the newest first',
    access: access.systemAdmin(),
    schema: { params: schemas.JobParams, query: schemas.JobRunsQuery, response: { 200: schemas.JobRunPage } },
    errors: [JobNotFound],
    handler: ({ params, query, services, setHeader }) => listJobRuns({ services, setHeader }, params.name, query),
  }),
  defineRoute({
    method: 'POST',
    path: `${jobs}/{name}/run`,
    operationId: 'runScheduledJob',
    summary: 'Run a job now, beside its schedule; the answer does not wait for the end',
    access: access.systemAdmin(),
    schema: { params: schemas.JobParams, response: { 202: schemas.JobRunAnswer } },
    errors: [JobNotFound, JobIsRunning],
    audit: 'scheduled_job.run',
    handler: ({ actor, params, services }) => runJob({ services, actor }, params.name),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${jobs}/{name}`,
    operationId: 'updateScheduledJob',
    summary: 'Switch a job on or off, or change when it runs',
    access: access.systemAdmin(),
    schema: { params: schemas.JobParams, body: schemas.UpdateJobBody, response: { 200: schemas.JobAnswer } },
    errors: [JobNotFound, ScheduleInvalid],
    audit: 'scheduled_job.updated',
    handler: ({ actor, body, params, services }) => updateJob({ services, actor }, params.name, body),
  }),
];
