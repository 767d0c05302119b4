import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/base/schemas';
import { EntityType, entityOptions } from '#modules/translation/translation.schemas';

export const TranslateEntityTypeBody = closed({
  entity_type: EntityType,
  entity_ids: Type.Optional(
    Type.Array(Uuid, {
      minItems: 1,
      maxItems: 10_000,
      description: 'Records to translate, by identifier; default: all records of the type.',
    }),
  ),
  ...entityOptions,
});
export type TranslateEntityTypeBody = Static<typeof TranslateEntityTypeBody>;

const ProviderUsed = Type.String({
  description: 'The api_key of the latest connector; `none` if no provider was needed.',
});
const amounts = {
  entities_total: Type.Integer({ description: 'Number of records to translate.' }),
  entities_translated: Type.Integer({ description: 'Number of records with at least one new translation.' }),
  languages_translated: Type.Array(Type.String(), { description: 'Languages with new translations.' }),
  provider_used: ProviderUsed,
  batches_processed: Type.Integer({ description: 'Number of processed batches of records.' }),
};

export const EntityTypeAnswer = dataOf(closed({ entity_type: EntityType, ...amounts }));

const Status = Type.Enum(['running', 'completed', 'failed', 'cancelled'], { description: 'Status of the job.' });

const Job = closed(
  {
    id: Uuid,
    entity_type: EntityType,
    source_language: nullable(Type.String(), {
      description: 'Source language (ISO 639-1); null: the job chose it for each record.',
    }),
    target_languages: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Requested languages (ISO 639-1); null: missing translations in the languages of the tenant.',
    }),
    protect_human: Type.Boolean({ description: 'Whether texts written by users stay unchanged.' }),
    status: Status,
    languages: Type.Array(Type.String(), { description: 'Target languages, in the order of processing.' }),
    language: nullable(Type.String(), {
      description: 'Language that is being translated into; null if the job is not running.',
    }),
    ...amounts,
    texts_failed: Type.Integer({ description: 'Number of texts that could not be translated.' }),
    error: nullable(Type.String(), {
      description: 'Reason of the failure, as text for users; null without a failure.',
    }),
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
