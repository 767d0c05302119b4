import { sql, type Expression } from 'kysely';

import { queryBuilder, read, toRead, write, type ReadStatement, type WriteStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { EntityType, Field } from '#modules/translation/translation.types';

export type State = 'human' | 'machine' | 'stale';

type MarkColumns = {
  tenant_id: string;
  entity_type: EntityType;
  entity_id: string;
  language: string;
  field: Field;
  source_language: string | null;
  source_hash: Buffer;
  value_hash: Buffer;
  provider: string;
  translated_at: string;
};
type Named = { tenant_id: string; id: string; name: string; description: string | null; translations_i18n: object };
type Tables = {
  translation_marks: MarkColumns;
  spaces: Named;
  resources: Named;
  tags: Omit<Named, 'description'>;
  categories: { tenant_id: string; id: string; translations: object };
  tenants: { id: string; default_language: string };
};

export type MarkRow = Omit<MarkColumns, 'tenant_id' | 'entity_type' | 'translated_at'>;

const builder = queryBuilder<Tables>();

export const listMarks = read<{ tenantId: string; type: EntityType; ids: readonly string[] }, MarkRow>((p) =>
  builder
    .selectFrom('translation_marks')
    .select(['entity_id', 'language', 'field', 'source_language', 'source_hash', 'value_hash', 'provider'])
    .where('tenant_id', '=', p.tenantId)
    .where('entity_type', '=', p.type)
    .where(sql<boolean>`entity_id = any(${p.ids}::uuid[])`),
);

/** `rows` is JSON: `[{entity_id, language, field, source_language, source_hash, value_hash, provider}]`, hashes in hexadecimal. */
export const saveMarks = write<{ tenantId: string; type: EntityType; rows: string; at: string }, never>((p) =>
  builder
    .insertInto('translation_marks')
    .columns([
      'tenant_id',
      'entity_type',
      'entity_id',
      'language',
      'field',
      'source_language',
      'source_hash',
      'value_hash',
      'provider',
      'translated_at',
    ])
    .expression((db) =>
      db
        .selectFrom(
          sql<Record<'entity_id' | 'language' | 'source_language' | 'provider', string> & { field: Field }>`
            jsonb_to_recordset(${p.rows}::jsonb)`
            .as<'r'>(sql`r(entity_id uuid, language text, field text, source_language text,
              source_hash text, value_hash text, provider text)`),
        )
        .select([
          sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
          sql<EntityType>`${p.type}::text`.as('entity_type'),
          'r.entity_id',
          'r.language',
          'r.field',
          'r.source_language',
          sql<Buffer>`decode(r.source_hash, 'hex')`.as('source_hash'),
          sql<Buffer>`decode(r.value_hash, 'hex')`.as('value_hash'),
          'r.provider',
          sql<string>`${p.at}::timestamptz(3)`.as('translated_at'),
        ])
        .orderBy('r.entity_id')
        .orderBy('r.language')
        .orderBy('r.field'),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'entity_type', 'entity_id', 'language', 'field']).doUpdateSet({
        source_language: sql`excluded.source_language`,
        source_hash: sql`excluded.source_hash`,
        value_hash: sql`excluded.value_hash`,
        provider: sql`excluded.provider`,
        translated_at: sql`excluded.translated_at`,
      }),
    ),
);

export type TextStateRow = {
  entity_id: string;
  language: string;
  field: Field;
  state: State;
  provider: string | null;
  translated_at: string | null;
};

export type TextFilters = {
  type: EntityType;
  id: string | undefined;
  language: string | undefined;
  state: State | undefined;
};

/** Every text in a translation of such records, by record, language and field, with what is known of how it came there. */
export function listTexts(
  tenantId: string,
  filters: TextFilters,
  page: { limit: number; offset: number },
): ReadStatement<TextStateRow> {
  return toRead(
    matching(tenantId, filters)
      .select(['entity_id', 'language', 'field', 'state', 'provider', 'translated_at'])
      .orderBy('entity_id')
      .orderBy('language')
      .orderBy('field', 'desc')
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countTexts(tenantId: string, filters: TextFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(tenantId, filters).select('entity_id'));
}

const digest = (text: ReturnType<typeof sql>) => sql`sha256(convert_to(${text}, 'UTF8'))`;

const state = sql<State>`case
  when m.value_hash is distinct from ${digest(sql`f.value`)} then 'human'
  when m.source_hash is distinct from ${digest(sql`case when m.source_language is null then e.own ->> f.field
    else e.translations -> m.source_language ->> f.field end`)} then 'stale'
  else 'machine' end`;

function matching(tenantId: string, filters: TextFilters) {
  const { type, id, language } = filters;
  let texts = builder
    .selectFrom(textsOf[type](tenantId).as('e'))
    .crossJoinLateral(
      sql<{ language: string; texts: object }>`jsonb_each(e.translations)`.as<'t'>(sql`t(language, texts)`),
    )
    .crossJoinLateral(
      sql<{ field: Field; value: string | null }>`jsonb_each_text(t.texts)`.as<'f'>(sql`f(field, value)`),
    )
    .leftJoin(
      (db) =>
        db
          .selectFrom('translation_marks')
          .selectAll()
          .where('tenant_id', '=', tenantId)
          .where('entity_type', '=', type)
          .as('m'),
      (join) =>
        join.onRef('m.entity_id', '=', 'e.id').onRef('m.language', '=', 't.language').onRef('m.field', '=', 'f.field'),
    )
    .select(['e.id as entity_id', 't.language', 'f.field', state.as('state')])
    // A text that a user has edited no longer belongs to a provider.
    .select([
      sql<string | null>`case when ${state} <> 'human' then m.provider end`.as('provider'),
      sql<string | null>`case when ${state} <> 'human' then m.translated_at end`.as('translated_at'),
    ])
    .where(sql<boolean>`f.value ~ '\\S'`);
  if (id !== undefined) texts = texts.where('e.id', '=', id);
  if (language !== undefined) texts = texts.where('t.language', '=', language);
  const all = builder.selectFrom(texts.as('texts'));
  return filters.state === undefined ? all : all.where('state', '=', filters.state);
}

/** What a record says itself, and its translations, which for categories are the others. */
const textsOf = {
  space: (tenantId: string) =>
    builder
      .selectFrom('spaces')
      .select([
        'id',
        sql<object>`jsonb_build_object('name', name, 'description', description)`.as('own'),
        sql<object>`translations_i18n`.as('translations'),
      ])
      .where('tenant_id', '=', tenantId),
  resource: (tenantId: string) =>
    builder
      .selectFrom('resources')
      .select([
        'id',
        sql<object>`jsonb_build_object('name', name, 'description', description)`.as('own'),
        sql<object>`translations_i18n`.as('translations'),
      ])
      .where('tenant_id', '=', tenantId),
  tag: (tenantId: string) =>
    builder
      .selectFrom('tags')
      .select([
        'id',
        sql<object>`jsonb_build_object('name', name)`.as('own'),
        sql<object>`translations_i18n`.as('translations'),
      ])
      .where('tenant_id', '=', tenantId),
  category: (tenantId: string) => {
    const base = builder.selectFrom('tenants').select('default_language').where('id', '=', tenantId);
    return builder
      .selectFrom('categories')
      .select([
        'id',
        sql<object>`translations -> ${base}`.as('own'),
        sql<object>`translations - ${base}`.as('translations'),
      ])
      .where('tenant_id', '=', tenantId);
  },
};

/** Housekeeping: who has marks at all. */
export const listMarkedTenants = read<Record<string, never>, { tenant_id: string }>(() =>
  builder.selectFrom('translation_marks').select('tenant_id').distinct(),
);

type Batch = { tenantId: string; max: number };

/** Housekeeping: marks of records that are gone. */
export const forgetMarks: Readonly<Record<EntityType, (batch: Batch) => WriteStatement<{ deleted: number }>>> = {
  space: orphans('space', (tenantId) => builder.selectFrom('spaces').select('id').where('tenant_id', '=', tenantId)),
  resource: orphans('resource', (tenantId) =>
    builder.selectFrom('resources').select('id').where('tenant_id', '=', tenantId),
  ),
  tag: orphans('tag', (tenantId) => builder.selectFrom('tags').select('id').where('tenant_id', '=', tenantId)),
  category: orphans('category', (tenantId) =>
    builder.selectFrom('categories').select('id').where('tenant_id', '=', tenantId),
  ),
};

function orphans(type: EntityType, existing: (tenantId: string) => Expression<{ id: string }>) {
  return write<Batch, { deleted: number }>((p) =>
    builder
      .deleteFrom('translation_marks')
      .where('tenant_id', '=', p.tenantId)
      .where('entity_type', '=', type)
      .where((is) =>
        is(
          is.refTuple('entity_id', 'language', 'field'),
          'in',
          is
            .selectFrom('translation_marks')
            .select(['entity_id', 'language', 'field'])
            .where('tenant_id', '=', p.tenantId)
            .where('entity_type', '=', type)
            .where(sql<boolean>`entity_id not in (${existing(p.tenantId)})`)
            .limit(p.max)
            .$asTuple('entity_id', 'language', 'field'),
        ),
      )
      .returning(sql<number>`1`.as('deleted')),
  );
}
