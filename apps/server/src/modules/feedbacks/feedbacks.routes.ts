import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  FeedbackNotFound,
  ResourceNotFound,
  SpaceNotFound,
  TooManyFeedbacks,
} from '#modules/feedbacks/feedbacks.errors';
import * as schemas from '#modules/feedbacks/feedbacks.schemas';
import { createFeedback, getFeedback, listFeedbacks, updateFeedback } from '#modules/feedbacks/feedbacks.service';

export const feedbackRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/feedbacks',
    operationId: 'listFeedbacks',
    summary: 'List feedback, the newest first, with filters',
    access: access.permission('feedbacks.read', 'feedbacks.read'),
    schema: { query: schemas.ListFeedbacksQuery, response: { 200: schemas.FeedbackPage } },
    handler: ({ db, query, setHeader }) => listFeedbacks({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/feedbacks',
    operationId: 'createFeedback',
    summary: 'Submit feedback on a space or a resource',
    access: access.member(),
    schema: { body: schemas.CreateFeedbackBody, response: { 201: schemas.FeedbackAnswer } },
    errors: [TooManyFeedbacks, SpaceNotFound, ResourceNotFound],
    audit: 'feedback.created',
    handler: ({ actor, body, db, services }) => createFeedback({ db, actor, services }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/feedbacks/{id}',
    operationId: 'getFeedback',
    summary: 'Get a feedback entry',
    access: access.permission('feedbacks.read', 'feedbacks.read'),
    schema: { params: IdParams, response: { 200: schemas.FeedbackAnswer } },
    errors: [FeedbackNotFound],
    handler: ({ db, params }) => getFeedback(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/feedbacks/{id}',
    operationId: 'updateFeedback',
    summary: 'Update the processing status of a feedback entry',
    access: access.permission('feedbacks.manage'),
    schema: { params: IdParams, body: schemas.UpdateFeedbackBody, response: { 200: schemas.FeedbackAnswer } },
    errors: [FeedbackNotFound],
    audit: 'feedback.updated',
    handler: ({ actor, body, db, params, services }) =>
      updateFeedback({ db, actor, now: services.now }, params.id, body),
  }),
];
