import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, read, type ReadStatement, type WriteStatement } from '#core/data/db/query';
import { rowById, tenantTable, type ById } from '#core/data/db/rows';
import { tagColumns, type TagRow } from '#modules/tags/tags.queries';

type Tables = {
  tags: TagRow & { name_key: string };
  space_tags: { tenant_id: string; space_id: string; tag_id: string; created_at: string };
  resource_tags: { tenant_id: string; resource_id: string; tag_id: string; created_at: string };
};

type Tagging = { id: string; tagId: string } & AuditParams;

/** The queries that tag one kind of record. */
export type TaggingQueries = {
  findEntity(params: ById): ReadStatement<{ id: string }>;
  listTags(params: ById & { limit: number; offset: number }): ReadStatement<TagRow>;
  countTags(params: ById): ReadStatement<{ total: number }>;
  /** Inserts and records nothing if the record has the tag already. */
  addTag(params: Tagging & { at: string }): WriteStatement<{ id: string }>;
  removeTag(params: Tagging): WriteStatement<{ id: string }>;
};

const builder = queryBuilder<Tables>();
const allTagColumns = tagColumns.map((name) => `tags.${name}` as const);

export const spaceTagging: TaggingQueries = {
  findEntity: rowById(tenantTable('spaces')),
  listTags: read<ById & { limit: number; offset: number }, TagRow>((p) =>
    builder
      .selectFrom('space_tags')
      .innerJoin('tags', (join) =>
        join.onRef('tags.tenant_id', '=', 'space_tags.tenant_id').onRef('tags.id', '=', 'space_tags.tag_id'),
      )
      .select(allTagColumns)
      .where('space_tags.tenant_id', '=', p.tenantId)
      .where('tags.tenant_id', '=', p.tenantId)
      .where('space_tags.space_id', '=', p.id)
      .orderBy('tags.name_key')
      .limit(p.limit)
      .offset(p.offset),
  ),
  countTags: read<ById, { total: number }>((p) =>
    builder
      .selectFrom('space_tags')
      .select(sql<number>`count(*)`.as('total'))
      .where('tenant_id', '=', p.tenantId)
      .where('space_id', '=', p.id),
  ),
  addTag: auditedWrite<Tagging & { at: string }, { id: string }>((p) => {
    const change = builder
      .insertInto('space_tags')
      .values({ tenant_id: p.tenantId, space_id: p.id, tag_id: p.tagId, created_at: p.at })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'space_id', 'tag_id']).doNothing())
      .returning('space_id as id');
    return withAudit<{ id: string }>(change, { action: 'space.tagged', resourceType: 'space' }, p);
  }),
  removeTag: auditedWrite<Tagging, { id: string }>((p) => {
    const change = builder
      .deleteFrom('space_tags')
      .where('tenant_id', '=', p.tenantId)
      .where('space_id', '=', p.id)
      .where('tag_id', '=', p.tagId)
      .returning('space_id as id');
    return withAudit<{ id: string }>(change, { action: 'space.untagged', resourceType: 'space' }, p);
  }),
};

export const resourceTagging: TaggingQueries = {
  findEntity: rowById(tenantTable('resources')),
  listTags: read<ById & { limit: number; offset: number }, TagRow>((p) =>
    builder
      .selectFrom('resource_tags')
      .innerJoin('tags', (join) =>
        join.onRef('tags.tenant_id', '=', 'resource_tags.tenant_id').onRef('tags.id', '=', 'resource_tags.tag_id'),
      )
      .select(allTagColumns)
      .where('resource_tags.tenant_id', '=', p.tenantId)
      .where('tags.tenant_id', '=', p.tenantId)
      .where('resource_tags.resource_id', '=', p.id)
      .orderBy('tags.name_key')
      .limit(p.limit)
      .offset(p.offset),
  ),
  countTags: read<ById, { total: number }>((p) =>
    builder
      .selectFrom('resource_tags')
      .select(sql<number>`count(*)`.as('total'))
      .where('tenant_id', '=', p.tenantId)
      .where('resource_id', '=', p.id),
  ),
  addTag: auditedWrite<Tagging & { at: string }, { id: string }>((p) => {
    const change = builder
      .insertInto('resource_tags')
      .values({ tenant_id: p.tenantId, resource_id: p.id, tag_id: p.tagId, created_at: p.at })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'resource_id', 'tag_id']).doNothing())
      .returning('resource_id as id');
    return withAudit<{ id: string }>(change, { action: 'resource.tagged', resourceType: 'resource' }, p);
  }),
  removeTag: auditedWrite<Tagging, { id: string }>((p) => {
    const change = builder
      .deleteFrom('resource_tags')
      .where('tenant_id', '=', p.tenantId)
      .where('resource_id', '=', p.id)
      .where('tag_id', '=', p.tagId)
      .returning('resource_id as id');
    return withAudit<{ id: string }>(change, { action: 'resource.untagged', resourceType: 'resource' }, p);
  }),
};
