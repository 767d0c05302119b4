import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { preferredLanguages } from '#core/http/languages';
import { defineRoute } from '#core/http/route';
import * as errors from '#modules/categories/categories.errors';
import * as schemas from '#modules/categories/categories.schemas';
import {
  createCategory,
  getCategory,
  getTranslations,
  listCategories,
  updateCategory,
} from '#modules/categories/categories.service';
import {
  linkCategory,
  listCategoryLinks,
  listEntityCategories,
  unlinkCategory,
} from '#modules/categories/category-links.service';
import { deleteCategory } from '#modules/categories/category-tree.service';

const collection = '/api/v1/secure/taxonomy/categories';
const mayRead = access.member('categories.read');
const mayLink = access.permission('categories.link');

type Headers = { headers: Readonly<Record<string, string | undefined>> };

/** A language in the URL replaces the languages of `Accept-Language`. */
function languagesOf({ headers }: Headers, language?: string): string[] {
  return language === undefined ? preferredLanguages(headers['accept-language']) : [language];
}

const treeRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listCategories',
    summary: 'List categories as a flat list, by level and key; all of them without `limit`',
    access: mayRead,
    schema: { query: schemas.ListCategoriesQuery, response: { 200: schemas.CategoryList } },
    tool: {
      toolset: 'taxonomy',
      description:
        'Lists the tree of categories as a flat list, by level and key. Names are in `language`, or in another language if it is missing.',
    },
    handler: ({ db, query, request, setHeader }) =>
      listCategories({ db, languages: languagesOf(request, query.language), setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: collection,
    operationId: 'createCategory',
    summary: 'Create a category, as a root or within another category',
    access: access.tenantAdmin(),
    schema: { body: schemas.CreateCategoryBody, response: { 201: schemas.CategoryAnswer } },
    errors: [errors.ParentNotFound, errors.CategoryKeyTaken, errors.CategoryTooDeep],
    audit: 'category.created',
    handler: ({ actor, body, db, request, services }) =>
      createCategory({ db, actor, languages: languagesOf(request), now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}`,
    operationId: 'getCategory',
    summary: 'Get a category',
    access: mayRead,
    schema: { params: IdParams, query: schemas.GetCategoryQuery, response: { 200: schemas.CategoryAnswer } },
    errors: [errors.CategoryNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'Gets a category by its id.',
    },
    handler: ({ db, params, query, request }) =>
      getCategory({ db, languages: languagesOf(request, query.language) }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/translations`,
    operationId: 'getCategoryTranslations',
    summary: 'Get the names and descriptions of a category in all languages',
    access: mayRead,
    schema: { params: IdParams, response: { 200: schemas.TranslationsAnswer } },
    errors: [errors.CategoryNotFound],
    handler: ({ db, params }) => getTranslations(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${collection}/{id}`,
    operationId: 'updateCategory',
    summary: 'Update a category, or move it and its descendants with `parent_id`; null removes a language',
    access: access.tenantAdmin(),
    schema: { params: IdParams, body: schemas.UpdateCategoryBody, response: { 200: schemas.CategoryAnswer } },
    errors: [
      errors.CategoryNotFound,
      errors.ParentNotFound,
      errors.CategoryKeyTaken,
      errors.CategoryCycle,
      errors.CategoryTooDeep,
      errors.TranslationRequired,
      errors.TooManyTranslations,
    ],
    audit: 'category.updated',
    handler: ({ actor, body, db, params, request, services }) =>
      updateCategory({ db, actor, languages: languagesOf(request), now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'deleteCategory',
    summary: 'Delete a category; `cascade` or `reassign_to` decides about its children and links',
    access: access.tenantAdmin(),
    schema: { params: IdParams, query: schemas.DeleteCategoryQuery, response: { 204: null } },
    errors: [
      errors.CategoryNotFound,
      errors.ReassignTargetNotFound,
      errors.CategoryHasChildren,
      errors.CategoryHasLinks,
      errors.CategoryCycle,
      errors.CategoryTooDeep,
      errors.CascadeReassignConflict,
    ],
    audit: 'category.deleted',
    handler: ({ actor, db, params, query, services }) =>
      deleteCategory({ db, actor, now: services.now }, params.id, query),
  }),
];

const linkRoutes = [
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/link`,
    operationId: 'linkCategory',
    summary: 'Link a category to a record (idempotent)',
    access: mayLink,
    schema: { params: IdParams, body: schemas.EntityBody, response: { 201: schemas.CategoryLinkAnswer } },
    errors: [errors.CategoryNotFound, errors.EntityNotFound],
    audit: 'category.linked',
    tool: {
      toolset: 'taxonomy',
      description: 'Links a category to a space, a resource, a group or the tenant. Repeating the call is safe.',
      destructive: false,
      idempotent: true,
    },
    handler: ({ actor, body, db, params, services }) => linkCategory({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}/unlink`,
    operationId: 'unlinkCategory',
    summary: 'Unlink a category from a record that the body or the query names',
    access: mayLink,
    schema: {
      params: IdParams,
      query: schemas.OptionalEntityQuery,
      body: schemas.OptionalEntityBody,
      response: { 204: null },
    },
    errors: [errors.EntityRequired, errors.CategoryNotFound, errors.CategoryLinkNotFound],
    audit: 'category.unlinked',
    tool: {
      toolset: 'taxonomy',
      description: 'Unlinks a category from the record that `entity_type` and `entity_id` name.',
    },
    handler: ({ actor, body, db, params, query, services }) => {
      const entity = query.entity_id === undefined ? (body ?? query) : query;
      if (entity.entity_type === undefined || entity.entity_id === undefined) throw errors.EntityRequired();
      return unlinkCategory({ db, actor, now: services.now }, params.id, entity as schemas.EntityBody);
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/entity`,
    operationId: 'listEntityCategories',
    summary: 'List the categories of a record, by level and key',
    access: mayRead,
    schema: { query: schemas.ListEntityCategoriesQuery, response: { 200: schemas.CategoryList } },
    errors: [errors.EntityNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'Lists the categories of a space, a resource, a group or the tenant.',
    },
    handler: ({ db, query, request }) =>
      listEntityCategories({ db, languages: languagesOf(request, query.language) }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/entities`,
    operationId: 'listCategoryLinks',
    summary: 'List the links of a category, in the order of their creation',
    access: mayRead,
    schema: { params: IdParams, query: schemas.ListCategoryLinksQuery, response: { 200: schemas.CategoryLinkList } },
    errors: [errors.CategoryNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'Lists the records that a category is linked to, in the order of linking.',
    },
    handler: ({ db, params, query }) => listCategoryLinks(db, params.id, query),
  }),
];

export const categoryRoutes = [...treeRoutes, ...linkRoutes];
