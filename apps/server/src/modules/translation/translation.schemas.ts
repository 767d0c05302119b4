import Type, { type Static } from 'typebox';

import { Language, Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/http/schemas';
import { entityTypeNames } from '#modules/translation/translation.types';

const GivenLanguage = Type.String({
  pattern: '^[A-Za-z]{2}$',
  description: 'Two letters (ISO 639-1), in whatever case.',
});
const targets = {
  target_languages: Type.Optional(Type.Array(GivenLanguage, { minItems: 1, maxItems: 100 })),
};
const ofLanguages = { additionalProperties: false, maxProperties: 200 };
const Translations = Type.Record(
  Language,
  closed({ name: nullable(Type.String()), description: nullable(Type.String()) }),
  { additionalProperties: false },
);
const Languages = Type.Array(Type.String());
const ProviderUsed = Type.String({ description: 'The api_key of the connector; `none` where nobody was needed.' });

export const TranslateTextBody = closed({
  text: Type.String({ minLength: 1, maxLength: 10_000, pattern: '\\S' }),
  source_language: GivenLanguage,
  target_language: GivenLanguage,
  preserve_html: Type.Optional(Type.Boolean({ default: false })),
});
export type TranslateTextBody = Static<typeof TranslateTextBody>;

export const TextAnswer = dataOf(
  closed({
    translated_text: Type.String(),
    source_language: Type.String(),
    target_language: Type.String(),
    provider_used: ProviderUsed,
    model_used: nullable(Type.String()),
    cached: Type.Boolean(),
    char_count: Type.Integer(),
    tokens_used: nullable(closed({ input: Type.Integer(), output: Type.Integer(), total: Type.Integer() })),
  }),
);

const Texts = closed({
  name: Type.Optional(nullable(Type.String({ maxLength: 1000 }))),
  description: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
});

export const TranslateI18nBody = closed({
  i18n_data: Type.Record(Language, Texts, { ...ofLanguages, minProperties: 1 }),
  source_language: Type.Optional(GivenLanguage),
  ...targets,
});
export type TranslateI18nBody = Static<typeof TranslateI18nBody>;

export const I18nAnswer = dataOf(
  closed({
    translations_i18n: Translations,
    languages_translated: Languages,
    provider_used: ProviderUsed,
    cached: Type.Boolean({ description: 'Whether all of it came from memory.' }),
  }),
);

export const EntityType = Type.Enum([...entityTypeNames]);

/** What every translation of records takes beside what says which. */
export const entityOptions = {
  source_language: Type.Optional(GivenLanguage),
  ...targets,
};

export const TranslateEntityBody = closed({ entity_type: EntityType, entity_id: Uuid, ...entityOptions });
export type TranslateEntityBody = Static<typeof TranslateEntityBody>;

export const ProtectionQuery = Type.Object({
  protect_human: Type.Optional(
    Type.Boolean({ default: false, description: 'Leave what people wrote alone, in target_languages, too.' }),
  ),
});

export const EntityAnswer = dataOf(
  closed({
    entity_id: Uuid,
    entity_type: EntityType,
    name: Type.String(),
    description: nullable(Type.String()),
    translations_i18n: Translations,
    languages_translated: Languages,
    provider_used: ProviderUsed,
  }),
);

const State = Type.Enum(['human', 'machine', 'stale']);

export const ListMarksQuery = Type.Object({
  ...paging,
  entity_type: EntityType,
  entity_id: Type.Optional(Uuid),
  language: Type.Optional(Language),
  state: Type.Optional(
    Type.Enum(['human', 'machine', 'stale'], {
      description: '`human`: written or edited by people; `stale`: by a machine, and its source has changed since.',
    }),
  ),
});
export type ListMarksQuery = Static<typeof ListMarksQuery>;

export const MarkPage = pageOf(
  closed(
    {
      entity_type: EntityType,
      entity_id: Uuid,
      language: Type.String(),
      field: Type.Enum(['name', 'description']),
      state: State,
      provider: nullable(Type.String()),
      translated_at: nullable(Timestamp),
    },
    { title: 'TranslationMark' },
  ),
);
