import { defineModule } from '#core/http/route';
import { ParentNotFound } from '#modules/spaces/spaces.errors';
import { spaceRoutes } from '#modules/spaces/spaces.routes';
import { TypeNotFound } from '#modules/type-definitions/index';

export { TooManyTranslations } from '#modules/spaces/spaces.errors';
export { shareSpace } from '#modules/spaces/spaces.queries';
export { assertTranslationsFit } from '#modules/spaces/spaces.service';
export { spaceTexts } from '#modules/spaces/spaces.queries';
export {
  Name,
  commonChanges,
  commonFields,
  commonFilters,
  commonRecord,
  idOrNull,
  maxJsonBytes,
  textLimits,
} from '#modules/spaces/spaces.schemas';

/** A tree of spaces: sites, buildings, floors and rooms. */
export const spacesModule = defineModule({
  name: 'spaces',
  description: 'Manage the tree of spaces: sites, buildings, floors and rooms',
  constraints: { spaces_parent: ParentNotFound, spaces_type: TypeNotFound },
  routes: spaceRoutes,
});
