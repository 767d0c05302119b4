import { access } from '#core/access/access';
import { preferredLanguages } from '#core/http/languages';
import { defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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

/** A language that is asked for in the URL takes the place of those that the client prefers in general. */
function languagesOf({ headers }: Headers, language?: string): string[] {
  return language === undefined ? preferredLanguages(headers['accept-language']) : [language];
}

const treeRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listCategories',
    summary: 'Categories of the tenant as a flat list, by level and key; all of them unless a part is asked for',
    access: mayRead,
    schema: { query: schemas.ListCategoriesQuery, response: { 200: schemas.CategoryList } },
    tool: {
      toolset: 'taxonomy',
      description:
        'Lists the tree of categories as a flat list, by level and key; names are in `language`, or what there is instead.',
    },
    handler: ({ db, query, request, setHeader }) =>
      listCategories({ db, languages: languagesOf(request, query.language), setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: collection,
    operationId: 'createCategory',
    summary: 'Create a category, at the top or within another',
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
    summary: 'One category',
    access: mayRead,
    schema: { params: IdParams, query: schemas.GetCategoryQuery, response: { 200: schemas.CategoryAnswer } },
    errors: [errors.CategoryNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'One category by its id.',
    },
    handler: ({ db, params, query, request }) =>
      getCategory({ db, languages: languagesOf(request, query.language) }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/translations`,
    operationId: 'getCategoryTranslations',
    summary: 'Name and description of a category in all languages, as they are written',
    access: mayRead,
    schema: { params: IdParams, response: { 200: schemas.TranslationsAnswer } },
    errors: [errors.CategoryNotFound],
    handler: ({ db, params }) => getTranslations(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${collection}/{id}`,
    operationId: 'updateCategory',
    summary: 'Change a category, or move it with all below it by parent_id; null removes a language',
    access: access.tenantAdmin(),
    schema: { params: IdParams, body: schemas.UpdateCategoryBody, response: { 200: schemas.CategoryAnswer } },
    errors: [
      errors.CategoryNotFound,
      errors.ParentNotFound,
      errors.CategoryKeyTaken,
      errors.CategoryCycle,
      errors.CategoryTooDeep,
      errors.LastTranslation,
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
    summary: 'Delete a category that has neither parts nor links, or say what becomes of them',
    access: access.tenantAdmin(),
    schema: { params: IdParams, query: schemas.DeleteCategoryQuery, response: { 204: null } },
    errors: [
      errors.CategoryNotFound,
      errors.ReassignTargetNotFound,
      errors.CategoryHasChildren,
      errors.CategoryHasLinks,
      errors.CategoryCycle,
      errors.CategoryTooDeep,
      errors.CascadeOrReassign,
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
    summary: 'Put something into a category; doing it again is safe',
    access: mayLink,
    schema: { params: IdParams, body: schemas.EntityBody, response: { 201: schemas.CategoryLinkAnswer } },
    errors: [errors.CategoryNotFound, errors.EntityNotFound],
    audit: 'category.linked',
    tool: {
      toolset: 'taxonomy',
      description: 'Puts a space, resource, group or the tenant into a category; doing it again is safe.',
      destructive: false,
      idempotent: true,
    },
    handler: ({ actor, body, db, params, services }) => linkCategory({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}/unlink`,
    operationId: 'unlinkCategory',
    summary: 'Take something out of a category, named in the body or in the query',
    access: mayLink,
    schema: {
      params: IdParams,
      query: schemas.OptionalEntityQuery,
      body: schemas.OptionalEntityBody,
      response: { 204: null },
    },
    errors: [errors.EntityNotNamed, errors.CategoryNotFound, errors.CategoryLinkNotFound],
    audit: 'category.unlinked',
    tool: {
      toolset: 'taxonomy',
      description: 'Takes something out of a category. Name it with `entity_type` and `entity_id`.',
    },
    handler: ({ actor, body, db, params, query, services }) => {
      const entity = query.entity_id === undefined ? (body ?? query) : query;
      if (entity.entity_type === undefined || entity.entity_id === undefined) throw errors.EntityNotNamed();
      return unlinkCategory({ db, actor, now: services.now }, params.id, entity as schemas.EntityBody);
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/entity`,
    operationId: 'listEntityCategories',
    summary: 'What categories something is in, by level and key',
    access: mayRead,
    schema: { query: schemas.ListEntityCategoriesQuery, response: { 200: schemas.CategoryList } },
    errors: [errors.EntityNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'What categories a space, resource, group or the tenant is in.',
    },
    handler: ({ db, query, request }) =>
      listEntityCategories({ db, languages: languagesOf(request, query.language) }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/entities`,
    operationId: 'listCategoryLinks',
    summary: 'What is in a category, in the order in which it was put there',
    access: mayRead,
    schema: { params: IdParams, query: schemas.ListCategoryLinksQuery, response: { 200: schemas.CategoryLinkList } },
    errors: [errors.CategoryNotFound],
    tool: {
      toolset: 'taxonomy',
      description: 'What is in a category, in the order in which it was put there.',
    },
    handler: ({ db, params, query }) => listCategoryLinks(db, params.id, query),
  }),
];

export const categoryRoutes = [...treeRoutes, ...linkRoutes];
