import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { preferredLanguages } from '#core/http/languages';
import { defineRoute } from '#core/http/route';
import { completeFlowTask, listHistory, listPending, skipFlowTask } from '#modules/flow-tasks/completions.service';
import { listEvidence, reportFlowTask } from '#modules/flow-tasks/evidence.service';
import * as errors from '#modules/flow-tasks/flow-tasks.errors';
import * as schemas from '#modules/flow-tasks/flow-tasks.schemas';
import {
  createFlowTask,
  deleteFlowTask,
  listFlowTasks,
  reorderFlowTasks,
  resetFlowTask,
  updateFlowTask,
} from '#modules/flow-tasks/flow-tasks.service';

const collection = '/api/v1/secure/admin/flow-tasks';
const own = '/api/v1/secure/flow-tasks';
const mayRead = access.permission('flow_tasks.read');
const mayManage = access.permission('flow_tasks.manage');

type Headers = { headers: Readonly<Record<string, string | undefined>> };

/** A language in the URL replaces the languages of `Accept-Language`. */
function languagesOf({ headers }: Headers, { language }: { language?: string }): string[] {
  return language === undefined ? preferredLanguages(headers['accept-language']) : [language];
}

export const adminRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listFlowTasks',
    summary: 'List flow tasks by priority; all of them without `limit`',
    access: mayRead,
    schema: { query: schemas.ListFlowTasksQuery, response: { 200: schemas.FlowTaskList } },
    handler: ({ db, query }) => listFlowTasks(db, query),
  }),
  defineRoute({
    method: 'POST',
    path: collection,
    operationId: 'createFlowTask',
    summary: 'Create a flow task',
    access: mayManage,
    schema: { body: schemas.CreateFlowTaskBody, response: { 201: schemas.FlowTask } },
    errors: [errors.InvalidFlowTaskConfig, errors.GroupNotFound, errors.TooManyFlowTasks],
    audit: 'flow_task.created',
    handler: ({ actor, body, db, services }) => createFlowTask({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${collection}/reorder`,
    operationId: 'reorderFlowTasks',
    summary: 'Reorder flow tasks in one step',
    access: mayManage,
    schema: { body: schemas.ReorderBody, response: { 200: schemas.ReorderAnswer } },
    errors: [errors.DuplicateTaskId, errors.FlowTaskNotFound],
    audit: 'flow_task.reordered',
    handler: ({ actor, body, db, services }) => reorderFlowTasks({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${collection}/{id}`,
    operationId: 'updateFlowTask',
    summary: 'Update fields of a flow task; a new version reopens it',
    access: mayManage,
    schema: { params: IdParams, body: schemas.UpdateFlowTaskBody, response: { 200: schemas.FlowTask } },
    errors: [errors.FlowTaskNotFound, errors.InvalidFlowTaskConfig, errors.GroupNotFound],
    audit: 'flow_task.updated',
    handler: ({ actor, body, db, params, services }) =>
      updateFlowTask({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'deleteFlowTask',
    summary: 'Delete a flow task; the evidence of its completions is kept',
    access: mayManage,
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.FlowTaskNotFound],
    audit: 'flow_task.deleted',
    handler: ({ actor, db, params, services }) => deleteFlowTask({ db, actor, now: services.now }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/reset`,
    operationId: 'resetFlowTask',
    summary: 'Reset a flow task, which reopens it for all users',
    access: mayManage,
    schema: { params: IdParams, response: { 200: schemas.ResetAnswer } },
    errors: [errors.FlowTaskNotFound],
    audit: 'flow_task.reset',
    handler: ({ actor, db, params, services }) => resetFlowTask({ db, actor, now: services.now }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/report`,
    operationId: 'reportFlowTask',
    summary: 'Count the users who have completed, skipped or not yet done a flow task',
    access: mayRead,
    schema: { params: IdParams, response: { 200: schemas.FlowTaskReport } },
    errors: [errors.FlowTaskNotFound],
    handler: ({ db, params, services }) => reportFlowTask({ db, now: services.now }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/completions`,
    operationId: 'listFlowTaskCompletions',
    summary: 'List the evidence of completions of a flow task, including a deleted one',
    access: mayRead,
    schema: { params: IdParams, query: schemas.PageQuery, response: { 200: schemas.EvidencePage } },
    errors: [errors.FlowTaskNotFound],
    handler: ({ db, params, query, setHeader }) => listEvidence({ db, setHeader }, params.id, query),
  }),
];

export const ownRoutes = [
  defineRoute({
    method: 'GET',
    path: `${own}/pending`,
    operationId: 'listPendingFlowTasks',
    summary: 'List the open flow tasks of the caller by priority',
    access: access.member(),
    schema: { query: schemas.TextsQuery, response: { 200: schemas.PendingFlowTasks } },
    tool: {
      toolset: 'tasks',
      description: 'Lists the open flow tasks of the user who is logged in, by priority.',
    },
    handler: ({ actor, query, request, services }) =>
      listPending({ services, actor, languages: languagesOf(request, query) }),
  }),
  defineRoute({
    method: 'GET',
    path: `${own}/history`,
    operationId: 'listOwnFlowTaskCompletions',
    summary: 'List the completions of the caller, the newest first',
    access: access.member(),
    schema: { query: schemas.PageQuery, response: { 200: schemas.CompletionPage } },
    tool: {
      toolset: 'tasks',
      description: 'Lists the flow tasks that the user who is logged in has completed or skipped, the newest first.',
    },
    handler: ({ actor, query, services, setHeader }) => listHistory({ actor, services, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: `${own}/{id}/complete`,
    operationId: 'completeFlowTask',
    summary: 'Complete a flow task, with evidence of the displayed text (idempotent)',
    access: access.member(),
    schema: {
      params: IdParams,
      query: schemas.TextsQuery,
      body: schemas.CompleteFlowTaskBody,
      response: { 200: schemas.CompletionAnswer },
    },
    errors: [errors.FlowTaskNotFound, errors.VersionChanged, errors.TextChanged, errors.RequirementMissing],
    audit: 'flow_task.completed',
    handler: ({ actor, body, params, query, request, services }) =>
      completeFlowTask({ services, actor, languages: languagesOf(request, query) }, params.id, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${own}/{id}/skip`,
    operationId: 'skipFlowTask',
    summary: 'Skip a flow task that is not mandatory (idempotent)',
    access: access.member(),
    schema: { params: IdParams, query: schemas.TextsQuery, response: { 200: schemas.CompletionAnswer } },
    errors: [errors.FlowTaskNotFound, errors.TaskMandatory],
    audit: 'flow_task.skipped',
    handler: ({ actor, params, query, request, services }) =>
      skipFlowTask({ services, actor, languages: languagesOf(request, query) }, params.id),
  }),
];
