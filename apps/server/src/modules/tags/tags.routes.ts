import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { addTagTo, listTagsOf, removeTagFrom, taggable } from '#modules/tags/taggings.service';
import {
  ResourceNotFound,
  SpaceNotFound,
  TagNameTaken,
  TagNotFound,
  TooManyTranslations,
} from '#modules/tags/tags.errors';
import * as schemas from '#modules/tags/tags.schemas';
import { createTag, deleteTag, getTag, listTags, updateTag } from '#modules/tags/tags.service';

const ownRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tags',
    operationId: 'listTags',
    summary: 'List tags by name',
    access: access.member('tags.read'),
    schema: { query: schemas.ListTagsQuery, response: { 200: schemas.TagPage } },
    tool: {
      toolset: 'taxonomy',
      description: 'Lists the tags of the tenant by name.',
    },
    handler: ({ db, query, setHeader }) => listTags({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tags',
    operationId: 'createTag',
    summary: 'Create a tag',
    access: access.permission('tags.manage'),
    schema: { body: schemas.CreateTagBody, response: { 201: schemas.TagAnswer } },
    errors: [TagNameTaken],
    audit: 'tag.created',
    tool: {
      toolset: 'taxonomy',
      description: 'Creates a tag. tag_space and tag_resource then add it to spaces and resources.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createTag({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tags/{id}',
    operationId: 'getTag',
    summary: 'Get a tag',
    access: access.member('tags.read'),
    schema: { params: IdParams, response: { 200: schemas.TagAnswer } },
    errors: [TagNotFound],
    handler: ({ db, params }) => getTag(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/tags/{id}',
    operationId: 'updateTag',
    summary: 'Update fields of a tag; null clears its color',
    access: access.permission('tags.manage'),
    schema: { params: IdParams, body: schemas.UpdateTagBody, response: { 200: schemas.TagAnswer } },
    errors: [TagNotFound, TagNameTaken, TooManyTranslations],
    audit: 'tag.updated',
    handler: ({ actor, body, db, params, services }) => updateTag({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/tags/{id}',
    operationId: 'deleteTag',
    summary: 'Delete a tag, and remove it from all spaces and resources',
    access: access.permission('tags.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [TagNotFound],
    audit: 'tag.deleted',
    handler: ({ actor, db, params, services }) => deleteTag({ db, actor, now: services.now }, params.id),
  }),
];

const spaceRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/spaces/{id}/tags',
    operationId: 'listSpaceTags',
    summary: 'List the tags of a space by name',
    access: access.member('spaces.read'),
    schema: { params: IdParams, query: schemas.ListEntityTagsQuery, response: { 200: schemas.TagPage } },
    errors: [SpaceNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'Lists the tags of a space by name.',
    },
    handler: ({ db, params, query, setHeader }) => listTagsOf({ db, setHeader }, taggable.space, params.id, query),
  }),
  defineRoute({
    method: 'PUT',
    path: '/api/v1/secure/spaces/{id}/tags/{tagId}',
    operationId: 'tagSpace',
    summary: 'Add a tag to a space (idempotent)',
    access: access.permission('spaces.manage', 'spaces.write'),
    schema: { params: schemas.TaggingParams, response: { 204: null } },
    errors: [SpaceNotFound, TagNotFound],
    audit: 'space.tagged',
    tool: {
      toolset: 'taxonomy',
      description: 'Adds a tag to a space. Repeating the call is safe.',
      destructive: false,
    },
    handler: ({ actor, db, params, services }) => addTagTo({ db, actor, now: services.now }, taggable.space, params),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/spaces/{id}/tags/{tagId}',
    operationId: 'untagSpace',
    summary: 'Remove a tag from a space (idempotent)',
    access: access.permission('spaces.manage', 'spaces.write'),
    schema: { params: schemas.TaggingParams, response: { 204: null } },
    errors: [SpaceNotFound, TagNotFound],
    audit: 'space.untagged',
    tool: {
      toolset: 'taxonomy',
      description: 'Removes a tag from a space. Repeating the call is safe.',
    },
    handler: ({ actor, db, params, services }) =>
      removeTagFrom({ db, actor, now: services.now }, taggable.space, params),
  }),
];

const resourceRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/resources/{id}/tags',
    operationId: 'listResourceTags',
    summary: 'List the tags of a resource by name',
    access: access.member('resources.read'),
    schema: { params: IdParams, query: schemas.ListEntityTagsQuery, response: { 200: schemas.TagPage } },
    errors: [ResourceNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'Lists the tags of a resource by name.',
    },
    handler: ({ db, params, query, setHeader }) => listTagsOf({ db, setHeader }, taggable.resource, params.id, query),
  }),
  defineRoute({
    method: 'PUT',
    path: '/api/v1/secure/resources/{id}/tags/{tagId}',
    operationId: 'tagResource',
    summary: 'Add a tag to a resource (idempotent)',
    access: access.permission('resources.manage', 'resources.write'),
    schema: { params: schemas.TaggingParams, response: { 204: null } },
    errors: [ResourceNotFound, TagNotFound],
    audit: 'resource.tagged',
    tool: {
      toolset: 'taxonomy',
      description: 'Adds a tag to a resource. Repeating the call is safe.',
      destructive: false,
    },
    handler: ({ actor, db, params, services }) => addTagTo({ db, actor, now: services.now }, taggable.resource, params),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/resources/{id}/tags/{tagId}',
    operationId: 'untagResource',
    summary: 'Remove a tag from a resource (idempotent)',
    access: access.permission('resources.manage', 'resources.write'),
    schema: { params: schemas.TaggingParams, response: { 204: null } },
    errors: [ResourceNotFound, TagNotFound],
    audit: 'resource.untagged',
    tool: {
      toolset: 'taxonomy',
      description: 'Removes a tag from a resource. Repeating the call is safe.',
    },
    handler: ({ actor, db, params, services }) =>
      removeTagFrom({ db, actor, now: services.now }, taggable.resource, params),
  }),
];

export const tagRoutes: readonly Route[] = [...ownRoutes, ...spaceRoutes, ...resourceRoutes];
