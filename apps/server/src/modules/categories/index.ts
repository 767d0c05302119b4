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

/** A tree of categories with translated names, and the records that they are linked to. */
export const categoriesModule = defineModule({
  name: 'categories',
  description: 'Manage the tree of categories, and link categories to records',
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
