import { access, type Access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { FileContent } from '#core/http/downloads';
import { defineRoute, type Route } from '#core/http/route';
import { FileNotFound, FileNotOwned, StoreUnavailable, uploadErrors } from '#modules/storage/files.errors';
import { entities, type EntityType } from '#modules/storage/files.rules';
import * as schemas from '#modules/storage/files.schemas';
import { deleteFile, downloadFile, listEntityFiles, uploadFile } from '#modules/storage/files.service';

type MemberAccess = Extract<Access, { kind: 'member' }>;
type EntityRoute = { type: EntityType; path: `/${string}`; name: string; readers: MemberAccess; writers: MemberAccess };

/** Files of a record: for users, and for credentials with the flags of the record; contacts have no flags. */
const entityRouteList: readonly EntityRoute[] = [
  {
    type: 'space',
    path: '/api/v1/secure/spaces',
    name: 'Space',
    readers: access.member('spaces.read'),
    writers: access.member('spaces.write'),
  },
  {
    type: 'resource',
    path: '/api/v1/secure/resources',
    name: 'Resource',
    readers: access.member('resources.read'),
    writers: access.member('resources.write'),
  },
  {
    type: 'contact',
    path: '/api/v1/secure/contacts',
    name: 'Contact',
    readers: access.member(),
    writers: access.member(),
  },
];

export const entityFileRoutes: readonly Route[] = entityRouteList.flatMap(({ type, path, name, readers, writers }) => {
  const { notFound } = entities[type];
  return [
    defineRoute({
      method: 'GET',
      path: `${path}/{id}/files`,
      operationId: `list${name}Files`,
      summary: `List files of a ${type}`,
      access: readers,
      schema: { params: IdParams, query: schemas.ListEntityFilesQuery, response: { 200: schemas.FilePage } },
      errors: [notFound],
      tool: { toolset: 'files', description: `Lists files of a ${type}. Returns names and sizes, never the content.` },
      handler: ({ db, params: { id }, query, setHeader }) => listEntityFiles({ db, setHeader }, { type, id }, query),
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/{id}/files`,
      operationId: `upload${name}File`,
      summary: `Upload a file of a ${type}: the body is its content, Content-Type its media type`,
      access: writers,
      schema: {
        params: IdParams,
        query: schemas.UploadEntityFileQuery,
        upload: ['*/*'],
        response: { 201: schemas.FileAnswer },
      },
      errors: [...uploadErrors, notFound],
      audit: 'file.created',
      handler: ({ actor, db, params, query, services, upload }) =>
        uploadFile({ db, actor, services }, upload, { ...query, entity_type: type, entity_id: params.id }),
    }),
    defineRoute({
      method: 'GET',
      path: `${path}/{id}/files/{fileId}/content`,
      operationId: `get${name}FileContent`,
      summary: `Download a file of a ${type} or a range of its bytes`,
      access: readers,
      schema: { params: schemas.EntityFileParams, response: { 200: FileContent } },
      errors: [FileNotFound, StoreUnavailable],
      handler: ({ db, params: { id, fileId }, services }) => downloadFile({ db, services }, fileId, { type, id }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/{id}/files/{fileId}`,
      operationId: `delete${name}File`,
      summary: `Delete a file of a ${type} (users only their own, unless they hold files.manage)`,
      access: writers,
      schema: { params: schemas.EntityFileParams, response: { 204: null } },
      errors: [FileNotOwned, FileNotFound],
      audit: 'file.deleted',
      handler: ({ actor, db, params: { id, fileId }, services }) =>
        deleteFile({ db, actor, services }, fileId, { type, id }),
    }),
  ];
});
