import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { FileContent } from '#core/http/downloads';
import { defineRoute } from '#core/http/route';
import { deleteAvatar, downloadAvatar, saveAvatar } from '#modules/storage/avatars.service';
import * as errors from '#modules/storage/files.errors';
import { pictureTypes } from '#modules/storage/files.rules';
import * as schemas from '#modules/storage/files.schemas';
import { deleteFile, downloadFile, getFile, listFiles, updateFile, uploadFile } from '#modules/storage/files.service';

const { FileNotFound, SpaceNotFound, ResourceNotFound, ContactNotFound, EntityIncomplete, FileNotOwned, uploadErrors } =
  errors;

export const fileRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/files',
    operationId: 'listFiles',
    summary: 'List files of the tenant, newest first, with search and filters',
    access: access.member(),
    schema: { query: schemas.ListFilesQuery, response: { 200: schemas.FilePage } },
    tool: {
      toolset: 'files',
      description:
        'Lists files of the tenant, newest first, with search and filters. Returns names and sizes, never the content.',
    },
    handler: ({ db, query, setHeader }) => listFiles({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/files',
    operationId: 'uploadFile',
    summary: 'Upload a file: the body is its content, Content-Type its media type',
    access: access.member(),
    schema: { query: schemas.UploadFileQuery, upload: ['*/*'], response: { 201: schemas.FileAnswer } },
    errors: [...uploadErrors, SpaceNotFound, ResourceNotFound, ContactNotFound, EntityIncomplete],
    audit: 'file.created',
    handler: ({ actor, db, query, services, upload }) => uploadFile({ db, actor, services }, upload, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/files/{id}',
    operationId: 'getFile',
    summary: 'Get the name, type, size and record of a file',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.FileAnswer } },
    errors: [FileNotFound],
    tool: {
      toolset: 'files',
      description: 'Returns the name, type, size and record of a file, never the content.',
    },
    handler: ({ db, params }) => getFile(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/files/{id}',
    operationId: 'updateFile',
    summary: 'Rename a file or attach it to another record (only the uploader, or with files.manage)',
    access: access.member(),
    schema: { params: IdParams, body: schemas.UpdateFileBody, response: { 200: schemas.FileAnswer } },
    errors: [FileNotOwned, FileNotFound, SpaceNotFound, ResourceNotFound, ContactNotFound, EntityIncomplete],
    audit: 'file.updated',
    handler: ({ actor, body, db, params, services }) => updateFile({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/files/{id}',
    operationId: 'deleteFile',
    summary: 'Delete a file (only the uploader, or with files.manage)',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [FileNotOwned, FileNotFound],
    audit: 'file.deleted',
    handler: ({ actor, db, params, services }) => deleteFile({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/files/{id}/content',
    operationId: 'getFileContent',
    summary: 'Download a file or a range of its bytes',
    access: access.member(),
    schema: { params: IdParams, response: { 200: FileContent } },
    errors: [FileNotFound, errors.StoreUnavailable],
    handler: ({ db, params, services }) => downloadFile({ db, services }, params.id),
  }),
];

export const avatarRoutes = [
  defineRoute({
    method: 'PUT',
    path: '/api/v1/secure/users/{id}/avatar',
    operationId: 'saveAvatar',
    summary: 'Set the avatar of a user, at most 1 MiB (only your own, or with users.manage)',
    access: access.member(),
    schema: { params: IdParams, upload: pictureTypes, response: { 200: schemas.AvatarAnswer } },
    errors: [
      ...uploadErrors,
      errors.AvatarNotOwned,
      errors.UserNotFound,
      errors.PictureTypeRequired,
      errors.PictureInvalid,
    ],
    audit: 'user.avatar_changed',
    handler: ({ actor, db, params, services, upload }) => saveAvatar({ db, actor, services }, params.id, upload),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/users/{id}/avatar',
    operationId: 'getAvatar',
    summary: 'Download the avatar of a user',
    access: access.member(),
    schema: { params: IdParams, response: { 200: FileContent } },
    errors: [errors.AvatarNotFound, errors.StoreUnavailable],
    handler: ({ db, params, services }) => downloadAvatar({ db, services }, params.id),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/users/{id}/avatar',
    operationId: 'deleteAvatar',
    summary: 'Delete the avatar of a user (only your own, or with users.manage)',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.AvatarNotOwned, errors.AvatarNotFound],
    audit: 'user.avatar_removed',
    handler: ({ actor, db, params, services }) => deleteAvatar({ db, actor, services }, params.id),
  }),
];
