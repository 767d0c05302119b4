import { access } from '#core/access/access';
import { defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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
    summary: 'Tell something to everybody, some people or the members of groups; they are told in the background',
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
    summary: 'What people were told, the newest first; kept for 90 days',
    access: mayManage,
    schema: { query: schemas.ListNoticesQuery, response: { 200: schemas.NoticePage } },
    handler: ({ db, query, setHeader }) => listSentNotices({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}`,
    operationId: 'getNotice',
    summary: 'A notice, and how far it has got on each channel',
    access: mayManage,
    schema: { params: IdParams, response: { 200: schemas.NoticeReport } },
    errors: [errors.NoticeNotFound],
    handler: ({ db, params }) => getNotice(db, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/cancel`,
    operationId: 'cancelNotice',
    summary: 'Take a notice back, as far as it has not gone out',
    access: mayManage,
    schema: { params: IdParams, response: { 200: schemas.NoticeAnswer } },
    errors: [errors.NoticeNotFound, errors.NoticeEnded],
    audit: 'notice.cancelled',
    handler: ({ actor, db, params, services }) => cancelSentNotice({ services, db, actor }, params.id),
  }),
];
