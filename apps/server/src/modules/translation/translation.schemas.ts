import Type, { type Static } from 'typebox';

import { Timestamp, Language, Uuid, closed, dataOf, nullable, pageOf, paging } from '#core/base/schemas';
import { entityTypeNames } from '#modules/translation/translation.types';

const GivenLanguage = Type.String({
  pattern: '^[A-Za-z]{2}$',
  description: 'Language (ISO 639-1), case-insensitive.',
});
const targets = {
  target_languages: Type.Optional(
    Type.Array(GivenLanguage, {
      minItems: 1,
      maxItems: 100,
      description: 'Languages to translate into (ISO 639-1); default: those of the tenant.',
    }),
  ),
};
const ofLanguages = { additionalProperties: false, maxProperties: 200 };
const Translations = Type.Record(
  Language,
  closed({ name: nullable(Type.String()), description: nullable(Type.String()) }),
  { additionalProperties: false },
);
const Languages = Type.Array(Type.String(), { description: 'Languages with new translations.' });
const ProviderUsed = Type.String({ description: 'The api_key of the connector; `none` if no provider was needed.' });

export const TranslateTextBody = closed({
  text: Type.String({ minLength: 1, maxLength: 10_000, pattern: '\\S', description: 'Text to translate.' }),
  source_language: GivenLanguage,
  target_language: GivenLanguage,
  preserve_html: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether tags in the text are kept as HTML.' }),
  ),
});
export type TranslateTextBody = Static<typeof TranslateTextBody>;

export const TextAnswer = dataOf(
  closed({
    translated_text: Type.String({ description: 'Translated text.' }),
    source_language: Type.String({ description: 'Source language (ISO 639-1, lower case).' }),
    target_language: Type.String({ description: 'Target language (ISO 639-1, lower case).' }),
    provider_used: ProviderUsed,
    model_used: nullable(Type.String(), { description: 'Model of the provider; null if it named none.' }),
    cached: Type.Boolean({ description: 'Whether the translation came from the translation memory.' }),
    char_count: Type.Integer({ description: 'Length of the text in characters.' }),
    tokens_used: nullable(
      closed({
        input: Type.Integer({ description: 'Number of input tokens.' }),
        output: Type.Integer({ description: 'Number of output tokens.' }),
        total: Type.Integer({ description: 'Number of input and output tokens.' }),
      }),
      { description: 'Tokens that the provider reported; null if it reported none.' },
    ),
  }),
);

const Texts = closed({
  name: Type.Optional(nullable(Type.String({ maxLength: 1000 }))),
  description: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
});

export const TranslateI18nBody = closed({
  i18n_data: Type.Record(Language, Texts, {
    ...ofLanguages,
    minProperties: 1,
    description: 'Texts by language (ISO 639-1).',
  }),
  source_language: Type.Optional(GivenLanguage),
  ...targets,
});
export type TranslateI18nBody = Static<typeof TranslateI18nBody>;

export const I18nAnswer = dataOf(
  closed({
    translations_i18n: Translations,
    languages_translated: Languages,
    provider_used: ProviderUsed,
    cached: Type.Boolean({ description: 'Whether all translations came from the translation memory.' }),
  }),
);

export const EntityType = Type.Enum([...entityTypeNames]);

/** Options that all translations of records share. */
export const entityOptions = {
  source_language: Type.Optional(GivenLanguage),
  ...targets,
};

export const TranslateEntityBody = closed({ entity_type: EntityType, entity_id: Uuid, ...entityOptions });
export type TranslateEntityBody = Static<typeof TranslateEntityBody>;

export const ProtectionQuery = Type.Object({
  protect_human: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether texts written by users stay unchanged, in target_languages too.',
    }),
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

const State = Type.Enum(['human', 'machine', 'stale'], {
  description:
    '`human`: written or edited by a user; `machine`: translated; `stale`: translated, but the source has changed since.',
});

export const ListMarksQuery = Type.Object({
  ...paging,
  entity_type: EntityType,
  entity_id: Type.Optional(Uuid),
  language: Type.Optional(Language),
  state: Type.Optional(State),
});
export type ListMarksQuery = Static<typeof ListMarksQuery>;

export const MarkPage = pageOf(
  closed(
    {
      entity_type: EntityType,
      entity_id: Uuid,
      language: Type.String(),
      field: Type.Enum(['name', 'description'], { description: 'Translated property of the record.' }),
      state: State,
      provider: nullable(Type.String(), { description: 'The api_key of the connector; null for text of a user.' }),
      translated_at: nullable(Timestamp, {
        description: 'Time of the translation (RFC 3339, UTC); null for text of a user.',
      }),
    },
    { title: 'TranslationMark' },
  ),
);
