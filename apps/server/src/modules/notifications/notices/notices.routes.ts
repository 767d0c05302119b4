import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import * as errors from '#modules/notifications/notices/notices.errors';
import * as schemas from '#modules/notifications/notices/notices.schemas';
import {
  cancelSentNotice,
  createNotice,
  getNotice,
  listSentNotices,
} from '#modules/notifications/notices/notices.service';

const collection = '/api/v1/secure/admin/notifications';
const mayManage = access.permission('notifications.manage');

export const noticeRoutes = [
  defineRoute({
    method: 'POST',
    path: collection,
    operationId: 'createNotice',
    summary: 'Send a notification to all users, some users or the members of groups; fan-out runs in the background',
    access: mayManage,
    schema: { body: schemas.CreateNoticeBody, response: { 202: schemas.NoticeAnswer } },
    errors: [
      errors.CategoryReserved,
      errors.AmbiguousAudience,
      errors.UnknownAudience,
      errors.TooManyNotices,
      errors.NoticeKeyTaken,
    ],
    audit: 'notice.created',
    handler: ({ actor, body, db, services }) => createNotice({ services, db, actor }, body),
  }),
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listNotices',
    summary: 'List sent notifications, newest first; they are kept for 90 days',
    access: mayManage,
    schema: { query: schemas.ListNoticesQuery, response: { 200: schemas.NoticePage } },
    handler: ({ db, query, setHeader }) => listSentNotices({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}`,
    operationId: 'getNotice',
    summary: 'Get a sent notification with its delivery counts by channel and status',
    access: mayManage,
    schema: { params: IdParams, response: { 200: schemas.NoticeReport } },
    errors: [errors.NoticeNotFound],
    handler: ({ db, params }) => getNotice(db, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/cancel`,
    operationId: 'cancelNotice',
    summary: 'Cancel all deliveries of a notification that have not been sent',
    access: mayManage,
    schema: { params: IdParams, response: { 200: schemas.NoticeAnswer } },
    errors: [errors.NoticeNotFound, errors.NoticeEnded],
    audit: 'notice.cancelled',
    handler: ({ actor, db, params, services }) => cancelSentNotice({ services, db, actor }, params.id),
  }),
];
