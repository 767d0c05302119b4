import { categorySuccesses } from '#modules/categories/testing/successes';
import { unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

const categories = '/api/v1/secure/taxonomy/categories';

export const samples: Samples = {
  bodies: {
    createCategory: () => ({ ...categoryFields(), parent_id: null }),
    updateCategory: () => ({ ...categoryFields(), parent_id: null }),
    linkCategory: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
    unlinkCategory: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
  },
  ids: {
    'listCategories query.parent_id': 'category',
    'createCategory body.parent_id': 'category',
    'getCategory params.id': 'category',
    'getCategoryTranslations params.id': 'category',
    'updateCategory params.id': 'category',
    'updateCategory body.parent_id': 'category',
    'deleteCategory params.id': 'category',
    'deleteCategory query.reassign_to': 'category',
    'linkCategory params.id': 'category',
    'linkCategory body.entity_id': 'space',
    'unlinkCategory params.id': 'category',
    'unlinkCategory query.entity_id': 'space',
    'unlinkCategory body.entity_id': 'space',
    'listEntityCategories query.entity_id': 'space',
    'listCategoryLinks params.id': 'category',
  },
  queries: {
    listEntityCategories: '&entity_type=space',
    unlinkCategory: '&entity_type=space',
  },
  records: async ({ create, ids, secret }) => {
    const fields = () => ({ key: unique('category'), translations: { en: { name: secret } } });
    const category = await create(categories, fields());
    await create(categories, { ...fields(), parent_id: category });
    await create(`${categories}/${category}/link`, { entity_type: 'space', entity_id: ids.space });
    return { category };
  },
  tools: ({ create, made, of }) => {
    const link = async () => ({
      id: await made('categories'),
      entity_type: 'space',
      entity_id: await made('spaces'),
    });
    return {
      listCategories: () => Promise.resolve({ language: 'en' }),
      getCategory: of('categories'),
      listEntityCategories: async () => ({ entity_type: 'space', entity_id: await made('spaces') }),
      listCategoryLinks: of('categories'),
      linkCategory: link,
      unlinkCategory: async () => {
        const { id, ...entity } = await link();
        await create(`${categories}/${id}/link`, entity);
        return { id, ...entity };
      },
    };
  },
  successes: categorySuccesses,
};

function categoryFields(): Body {
  return {
    key: unique('category'),
    translations: { en: { name: 'Room', description: 'With walls' }, de: { name: 'Raum' } },
    filter_id: 'rooms',
  };
}
