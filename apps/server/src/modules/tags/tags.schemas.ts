import Type, { type Static } from 'typebox';

import {
  Language,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  jsonOfAtMost,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/base/schemas';

/** Maximum characters of a name; maximum languages and JSON bytes of all translations. */
export const textLimits = { name: 100, languages: 200, bytes: 32_768 };
const Name = Type.String({ minLength: 1, maxLength: textLimits.name, pattern: '\\S' });
const Color = Type.String({ pattern: '^#[0-9a-fA-F]{6}$' });
const Translation = closed({ name: Type.Optional(nullable(Name)) });
const ofLanguages = { additionalProperties: false, maxProperties: textLimits.languages };
const Translations = Type.Record(Language, Translation, ofLanguages);

const optionalFields = {
  color: Type.Optional(nullable(Color)),
  translations_i18n: Type.Optional(
    Type.Record(Language, Translation, {
      ...ofLanguages,
      ...jsonOfAtMost(textLimits.bytes),
      description: `Translated names by language; at most ${textLimits.bytes} bytes as JSON.`,
    }),
  ),
};

export const CreateTagBody = closed({ name: Name, ...optionalFields });
export type CreateTagBody = Static<typeof CreateTagBody>;

export const UpdateTagBody = closed({
  name: Type.Optional(Name),
  ...optionalFields,
  translations_i18n: Type.Optional(
    Type.Record(Language, nullable(Translation), {
      ...ofLanguages,
      ...jsonOfAtMost(textLimits.bytes),
      description: 'Translated names by language; null removes a language, and the other languages stay unchanged.',
    }),
  ),
});
export type UpdateTagBody = Static<typeof UpdateTagBody>;

const Tag = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    name: Type.String(),
    color: nullable(Type.String()),
    translations_i18n: Translations,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Tag' },
);

export const TagAnswer = dataOf(Tag);
export const TagPage = pageOf(Tag);

export const TaggingParams = closed({ id: Uuid, tagId: Uuid });

export const ListTagsQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Words that must all occur in the name.' })),
  name: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Complete name, compared without regard to case.' }),
  ),
});
export type ListTagsQuery = Static<typeof ListTagsQuery>;

export const ListEntityTagsQuery = Type.Object(paging);
export type ListEntityTagsQuery = Static<typeof ListEntityTagsQuery>;
