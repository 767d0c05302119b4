import { defineModule } from '#core/http/route';
import {
  CategoryKeyTaken,
  CategoryNotFound,
  EntityNotFound,
  ParentNotFound,
} from '#modules/categories/categories.errors';
import { categoryRoutes } from '#modules/categories/categories.routes';

export { textLimits as categoryTextLimits } from '#modules/categories/categories.rules';
export { categoryTexts } from '#modules/categories/category-texts.service';
export { removeCategoryLinksOf } from '#modules/categories/category-links.service';

/** A tree of categories with names in many languages, and what is in them. */
export const categoriesModule = defineModule({
  name: 'categories',
  description: 'A tree of categories with names in many languages, and what is in them',
  routes: categoryRoutes,
  constraints: {
    categories_key_key: CategoryKeyTaken,
    categories_parent: ParentNotFound,
    category_links_category: CategoryNotFound,
    category_links_space: EntityNotFound,
    category_links_resource: EntityNotFound,
    category_links_group: EntityNotFound,
  },
});
