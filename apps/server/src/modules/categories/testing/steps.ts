import { expect } from 'vitest';

import { unique, type Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

export const path = '/api/v1/secure/taxonomy/categories';

export type EntityType = 'space' | 'resource' | 'tenant' | 'group';
export type Entity = { entity_type: EntityType; entity_id: string };

/** The category calls of one tenant, made by its administrator unless the call names another token. */
export function categoriesOf(test: TestService, tenant: () => Tenant) {
  const by = (call: Call = {}): Call => ({ token: tenant().admin.token, ...call });
  const post = (body: object = {}, call?: Call): Promise<Answer> =>
    test.call('POST', path, {
      ...by(call),
      body: { key: unique('category'), translations: { en: { name: 'Category' } }, ...body },
    });
  return {
    post,
    create: async (body: object = {}): Promise<Record<string, any>> => {
      const answer = await post(body);
      expect(answer).toMatchObject({ status: 201 });
      return answer.body.data;
    },
    get: (id: string, call?: Call): Promise<Answer> => test.call('GET', `${path}/${id}`, by(call)),
    list: (query = '', call?: Call): Promise<Answer> => test.call('GET', `${path}${query}`, by(call)),
    patch: (id: string, body: unknown, call?: Call): Promise<Answer> =>
      test.call('PATCH', `${path}/${id}`, { ...by(call), body }),
    remove: (id: string, query = '', call?: Call): Promise<Answer> =>
      test.call('DELETE', `${path}/${id}${query}`, by(call)),
    link: (id: string, body: unknown, call?: Call): Promise<Answer> =>
      test.call('POST', `${path}/${id}/link`, { ...by(call), body }),
    unlink: (id: string, body: unknown, call?: Call): Promise<Answer> =>
      test.call('DELETE', `${path}/${id}/unlink`, { ...by(call), body }),
    linksOf: (id: string, query = '', call?: Call): Promise<Answer> =>
      test.call('GET', `${path}/${id}/entities${query}`, by(call)),
    ofEntity: ({ entity_type, entity_id }: Entity, query = '', call?: Call): Promise<Answer> =>
      test.call('GET', `${path}/entity?entity_type=${entity_type}&entity_id=${entity_id}${query}`, by(call)),
    /** Creates a record that can be linked to a category. */
    entity: async (type: 'space' | 'resource' | 'group' = 'space'): Promise<Entity> => {
      const answer = await test.call('POST', `/api/v1/secure/${type}s`, { ...by(), body: { name: unique(type) } });
      expect(answer).toMatchObject({ status: 201 });
      return { entity_type: type, entity_id: answer.body.data.id };
    },
    removeEntity: ({ entity_type, entity_id }: Entity): Promise<Answer> =>
      test.call('DELETE', `/api/v1/secure/${entity_type}s/${entity_id}`, by()),
    /** Errors in the tree and in the counts; empty if both are consistent. */
    problems: async (): Promise<unknown[]> => {
      const { tenantId } = tenant();
      return test.service.services.database.tenant(tenantId).all({
        kind: 'read',
        text: `with recursive tree as (
            select id, 0 as level, id || '/' as path from categories where tenant_id = $1 and parent_id is null
            union all
            select c.id, tree.level + 1, tree.path || c.id || '/' from tree
              join categories c on c.tenant_id = $1 and c.parent_id = tree.id
          ), links as (
            select category_id, count(*) as count from category_links where tenant_id = $1 group by category_id
          )
          select c.id, c.level, tree.level as true_level, c.path, tree.path as true_path, c.usage_count, links.count
          from categories c left join tree on tree.id = c.id left join links on links.category_id = c.id
          where c.tenant_id = $1 and (tree.id is null or c.level <> tree.level or c.path <> tree.path
            or c.usage_count <> coalesce(links.count, 0))
          union all
          select null, null, null, 'counted', null, (select coalesce(sum(amount), 0) from row_counts
            where tenant_id = $1 and table_name = 'categories')::integer, (select count(*) from categories where tenant_id = $1)
          where (select coalesce(sum(amount), 0) from row_counts where tenant_id = $1 and table_name = 'categories')
            <> (select count(*) from categories where tenant_id = $1)`,
        values: [tenantId],
        prepare: false,
      });
    },
  };
}
