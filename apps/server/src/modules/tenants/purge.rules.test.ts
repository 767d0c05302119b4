import { expect, it } from 'vitest';

import { inPurgeOrder } from '#modules/tenants/purge.rules';

const table = (name: string, ...referrers: string[]) => ({ name, key: ['id'], parent: null, referrers });

it('a table follows all tables that refer to it, over several steps', () => {
  const tables = [table('categories', 'links'), table('links'), table('tags', 'taggings'), table('taggings', 'links')];
  expect(inPurgeOrder(tables).map(({ name }) => name)).toEqual(['links', 'categories', 'taggings', 'tags']);
});

it('directory entries come first and the audit trail last, unless a foreign key forbids it', () => {
  const tables = [table('audit_logs'), table('tenant_domains', 'z'), table('memberships'), table('a'), table('z')];
  expect(inPurgeOrder(tables).map(({ name }) => name)).toEqual([
    'memberships',
    'a',
    'z',
    'audit_logs',
    'tenant_domains',
  ]);
});
