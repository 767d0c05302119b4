import { access, type Access } from '#core/access/access';
import { FileContent } from '#core/http/downloads';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { FileNotFound, NotYourFile, StoreUnavailable, uploadErrors } from '#modules/storage/files.errors';
import { entities, type EntityType } from '#modules/storage/files.rules';
import * as schemas from '#modules/storage/files.schemas';
import { deleteFile, downloadFile, listEntityFiles, uploadFile } from '#modules/storage/files.service';

type Members = Extract<Access, { kind: 'member' }>;
type Place = { type: EntityType; path: `/${string}`; name: string; readers: Members; writers: Members };

/** The files of a record, for people and for whoever holds the record's flags; contacts have none. */
const places: readonly Place[] = [
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

export const entityFileRoutes: readonly Route[] = places.flatMap(({ type, path, name, readers, writers }) => {
  const { notFound } = entities[type];
  return [
    defineRoute({
      method: 'GET',
      path: `${path}/{id}/files`,
      operationId: `list${name}Files`,
      summary: `Files of a ${type}`,
      access: readers,
      schema: { params: IdParams, query: schemas.ListEntityFilesQuery, response: { 200: schemas.FilePage } },
      errors: [notFound],
      tool: { toolset: 'files', description: `Lists the files of a ${type}; names and sizes, never the content.` },
      handler: ({ db, params: { id }, query, setHeader }) => listEntityFiles({ db, setHeader }, { type, id }, query),
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/{id}/files`,
      operationId: `upload${name}File`,
      summary: `Store the body, whatever it is, as a file of a ${type}`,
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
      summary: `The bytes of a file of a ${type}, or a part of them`,
      access: readers,
      schema: { params: schemas.EntityFileParams, response: { 200: FileContent } },
      errors: [FileNotFound, StoreUnavailable],
      handler: ({ db, params: { id, fileId }, services }) => downloadFile({ db, services }, fileId, { type, id }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/{id}/files/{fileId}`,
      operationId: `delete${name}File`,
      summary: `Delete a file of a ${type}; people only their own, unless they hold files.manage`,
      access: writers,
      schema: { params: schemas.EntityFileParams, response: { 204: null } },
      errors: [NotYourFile, FileNotFound],
      audit: 'file.deleted',
      handler: ({ actor, db, params: { id, fileId }, services }) =>
        deleteFile({ db, actor, services }, fileId, { type, id }),
    }),
  ];
});
