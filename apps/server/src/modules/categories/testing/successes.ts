import { unique } from '#test/support/factories';
import type { SampleContext, Successes } from '#test/support/samples';

const categories = '/api/v1/secure/taxonomy/categories';

const fields = () => ({
  key: unique('canary'),
  translations: { en: { name: 'canary', description: 'canary' } },
  filter_id: 'canary',
});

/** Successful calls of all recorded operations on categories and their links. */
export function categorySuccesses({ create }: SampleContext): Successes {
  const newCategory = () => create(categories, fields());
  const newEntity = async () => ({
    entity_type: 'space',
    entity_id: await create('/api/v1/secure/spaces', { name: 'Hall' }),
  });
  return {
    createCategory: () =>
      Promise.resolve({ method: 'POST', url: categories, status: 201, body: fields(), resourceType: 'category' }),
    updateCategory: async () => {
      const resourceId = await newCategory();
      const body = { ...fields(), parent_id: await newCategory() };
      const url = `${categories}/${resourceId}`;
      return {
        method: 'PATCH',
        url,
        status: 200,
        body,
        resourceType: 'category',
        resourceId,
        fields: Object.keys(body),
      };
    },
    deleteCategory: async () => {
      const resourceId = await newCategory();
      await create(categories, { ...fields(), parent_id: resourceId });
      const url = `${categories}/${resourceId}?cascade=true`;
      return { method: 'DELETE', url, status: 204, resourceType: 'category', resourceId };
    },
    linkCategory: async () => {
      const url = `${categories}/${await newCategory()}/link`;
      return { method: 'POST', url, status: 201, body: await newEntity(), resourceType: 'category_link' };
    },
    unlinkCategory: async () => {
      const [url, body] = [`${categories}/${await newCategory()}`, await newEntity()];
      const resourceId = await create(`${url}/link`, body);
      return { method: 'DELETE', url: `${url}/unlink`, status: 204, body, resourceType: 'category_link', resourceId };
    },
  };
}
