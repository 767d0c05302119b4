import { defineModule } from '#core/http/route';
import { ResourceNotFound, SpaceNotFound, TagNameTaken, TagNotFound } from '#modules/tags/tags.errors';
import { tagRoutes } from '#modules/tags/tags.routes';

export { tagTexts } from '#modules/tags/tags.queries';
export { textLimits as tagTextLimits } from '#modules/tags/tags.schemas';

/** Tags by which spaces and resources are found. */
export const tagsModule = defineModule({
  name: 'tags',
  description: 'Manage tags, and tag spaces and resources',
  constraints: {
    tags_name_key: TagNameTaken,
    space_tags_space: SpaceNotFound,
    space_tags_tag: TagNotFound,
    resource_tags_resource: ResourceNotFound,
    resource_tags_tag: TagNotFound,
  },
  routes: tagRoutes,
});
