import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/http/schemas';
import { EntityType, entityOptions } from '#modules/translation/translation.schemas';

export const TranslateEntityTypeBody = closed({
  entity_type: EntityType,
  entity_ids: Type.Optional(
    Type.Array(Uuid, { minItems: 1, maxItems: 10_000, description: 'Default: all records of the type.' }),
  ),
  ...entityOptions,
});
export type TranslateEntityTypeBody = Static<typeof TranslateEntityTypeBody>;

const ProviderUsed = Type.String({ description: 'The api_key of the connector; `none` where nobody was needed.' });
const amounts = {
  entities_total: Type.Integer(),
  entities_translated: Type.Integer({ description: 'Records of which at least one text was written.' }),
  languages_translated: Type.Array(Type.String()),
  provider_used: ProviderUsed,
  batches_processed: Type.Integer(),
};

export const EntityTypeAnswer = dataOf(closed({ entity_type: EntityType, ...amounts }));

const Status = Type.Enum(['running', 'completed', 'failed', 'cancelled']);

const Job = closed(
  {
    id: Uuid,
    entity_type: EntityType,
    source_language: nullable(Type.String()),
    target_languages: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'null: what is missing in the languages of the tenant.',
    }),
    protect_human: Type.Boolean(),
    status: Status,
    languages: Type.Array(Type.String(), { description: 'Into these, one after the other.' }),
    language: nullable(Type.String({ description: 'The one at work.' })),
    ...amounts,
    texts_failed: Type.Integer(),
    error: nullable(Type.String()),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
    completed_at: nullable(Timestamp),
  },
  { title: 'TranslationJob' },
);

export const JobAnswer = dataOf(Job);
export const JobPage = pageOf(Job);

export const ListJobsQuery = Type.Object({
  ...paging,
  status: Type.Optional(Status),
  entity_type: Type.Optional(EntityType),
});
export type ListJobsQuery = Static<typeof ListJobsQuery>;
