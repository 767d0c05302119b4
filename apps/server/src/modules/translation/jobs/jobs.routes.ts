import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import {
  EqualJobRunning,
  JobNotFailed,
  JobNotFound,
  JobNotRunning,
  SomeEntityNotFound,
  TooManyJobs,
} from '#modules/translation/jobs/jobs.errors';
import * as schemas from '#modules/translation/jobs/jobs.schemas';
import {
  cancelTranslationJob,
  getTranslationJob,
  listTranslationJobs,
  resumeTranslationJob,
  translateEntityType,
} from '#modules/translation/jobs/jobs.service';
import { translateFor } from '#modules/translation/scope';
import { TooManyTranslations, UnknownLanguage } from '#modules/translation/translation.errors';
import { ProtectionQuery } from '#modules/translation/translation.schemas';

const base = '/api/v1/secure/ai/translate';
const manages = access.permission('translations.manage');

export const jobRoutes = [
  defineRoute({
    method: 'POST',
    path: `${base}/entity-type`,
    operationId: 'translateEntityType',
    summary: 'Translate all or selected records of a type; longer work continues in the background (Location header)',
    access: manages,
    schema: {
      body: schemas.TranslateEntityTypeBody,
      query: ProtectionQuery,
      response: { 200: schemas.EntityTypeAnswer },
    },
    errors: [
      SomeEntityNotFound,
      UnknownLanguage,
      OperationDisabled,
      ProvidersRefused,
      TooManyTranslations,
      TooManyJobs,
      QuotaExceeded,
      ProvidersFailed,
      NoProvider,
    ],
    audit: 'translation_job.created',
    takesLong: true,
    handler: ({ body, query, setHeader, ...request }) =>
      translateFor(request, 'translation.entity_type', (scope) =>
        translateEntityType({ ...request, scope, setHeader }, body, {
          protectsHuman: query.protect_human ?? false,
        }),
      ),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/jobs`,
    operationId: 'listTranslationJobs',
    summary: 'List translation jobs, newest first; they are kept for 90 days',
    access: manages,
    schema: { query: schemas.ListJobsQuery, response: { 200: schemas.JobPage } },
    handler: ({ db, query, setHeader }) => listTranslationJobs({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${base}/jobs/{id}`,
    operationId: 'getTranslationJob',
    summary: 'Get a translation job and its progress',
    access: manages,
    schema: { params: IdParams, response: { 200: schemas.JobAnswer } },
    errors: [JobNotFound],
    handler: ({ db, params }) => getTranslationJob(db, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${base}/jobs/{id}/cancel`,
    operationId: 'cancelTranslationJob',
    summary: 'Cancel a translation job; stored translations stay',
    access: manages,
    schema: { params: IdParams, response: { 200: schemas.JobAnswer } },
    errors: [JobNotFound, JobNotRunning],
    audit: 'translation_job.cancelled',
    handler: ({ actor, db, params, services }) => cancelTranslationJob({ services, db, actor }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${base}/jobs/{id}/resume`,
    operationId: 'resumeTranslationJob',
    summary: 'Resume a failed translation job in the background',
    access: manages,
    schema: { params: IdParams, response: { 200: schemas.JobAnswer } },
    errors: [JobNotFound, JobNotFailed, EqualJobRunning, TooManyJobs],
    audit: 'translation_job.resumed',
    handler: ({ actor, db, params, services }) => resumeTranslationJob({ services, db, actor }, params.id),
  }),
];
