import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { DispatcherNotConfigured, DispatcherSecretRequired, JobIsRunning } from '#core/platform/jobs/errors';
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
    summary: 'Run the scheduled jobs that are due; an external scheduler calls this each minute',
    access: access.dispatcher(),
    hasBriefErrors: true,
    schema: { response: { 200: schemas.DispatchAnswer } },
    errors: [DispatcherSecretRequired, DispatcherNotConfigured],
    audit: { none: 'the history of dispatches records it' },
    handler: ({ services }) => runDispatcher(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/health`,
    operationId: 'getDispatcherHealth',
    summary: 'Get the health of the parts of the installation',
    access: access.public('monitors have no credentials, and the answer has no more than health'),
    hasBriefErrors: true,
    schema: { response: { 200: schemas.DispatcherHealth } },
    handler: ({ services }) => getDispatcherHealth(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/status`,
    operationId: 'getDispatcherStatus',
    summary: 'Get the mode of the dispatcher, recent dispatches and alerts',
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
    summary: 'Acknowledge an alert; the first acknowledgement wins',
    access: access.dispatcher({ orSystemAdmin: true }),
    hasBriefErrors: true,
    schema: { params: IdParams, response: { 200: schemas.Acknowledged } },
    errors: [AlertNotFound, DispatcherSecretRequired, DispatcherNotConfigured],
    audit: { none: 'the alert records who acknowledged it and when' },
    handler: ({ actor, params, services }) => acknowledge(services, params.id, actor),
  }),
  defineRoute({
    method: 'GET',
    path: jobs,
    operationId: 'listScheduledJobs',
    summary: 'List scheduled jobs with their next time and last run',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.JobList } },
    handler: ({ services }) => listJobs(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${jobs}/{name}/runs`,
    operationId: 'listScheduledJobRuns',
    summary: 'List runs of a job, newest first',
    access: access.systemAdmin(),
    schema: { params: schemas.JobParams, query: schemas.JobRunsQuery, response: { 200: schemas.JobRunPage } },
    errors: [JobNotFound],
    handler: ({ params, query, services, setHeader }) => listJobRuns({ services, setHeader }, params.name, query),
  }),
  defineRoute({
    method: 'POST',
    path: `${jobs}/{name}/run`,
    operationId: 'runScheduledJob',
    summary: 'Run a job now, in addition to its schedule, without waiting for its end',
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
    summary: 'Enable or disable a job, or change its schedule',
    access: access.systemAdmin(),
    schema: { params: schemas.JobParams, body: schemas.UpdateJobBody, response: { 200: schemas.JobAnswer } },
    errors: [JobNotFound, ScheduleInvalid],
    audit: 'scheduled_job.updated',
    handler: ({ actor, body, params, services }) => updateJob({ services, actor }, params.name, body),
  }),
];
