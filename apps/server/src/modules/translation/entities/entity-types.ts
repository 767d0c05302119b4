import { access, type Access } from '#core/base/access/access';
import type { LockStatement, ReadStatement, WriteStatement } from '#core/data/db/query';
import { categoryTextLimits, categoryTexts } from '#modules/categories/index';
import { resourceTexts } from '#modules/resources/index';
import { spaceTexts, textLimits } from '#modules/spaces/index';
import { tagTextLimits, tagTexts } from '#modules/tags/index';
import type { Stored, TextLimits } from '#modules/translation/entities/entities.rules';
import type { EntityType } from '#modules/translation/translation.types';

/** A record with its stored texts; categories have only translations. */
export type TextsRow = { id: string; name?: string; description?: string | null; translations: Stored };

type Some = { tenantId: string; ids: readonly string[] };
type Change = { tenantId: string; translations: Stored; at: string; userId: string | null };

type Texts = {
  find(some: Some): ReadStatement<TextsRow>;
  /** Locks rows until the end of the transaction, in the order of ids. */
  lock(some: Some): LockStatement<TextsRow>;
  /** Existing records by id, after `after`. */
  list(page: { tenantId: string; after: string; max: number }): ReadStatement<{ id: string }>;
  /** Without an audit row. */
  write(row: TextsRow, change: Change): WriteStatement<{ id: string }>;
};

type Translatable = {
  texts: Texts;
  limits: TextLimits;
  /** Access rule for changes of such records, which also allows their translation. */
  access: Access;
};

/** Types of records that can be translated. */
export const entityTypes: Readonly<Record<EntityType, Translatable>> = {
  space: { texts: spaceTexts, limits: textLimits, access: access.permission('spaces.manage', 'spaces.write') },
  resource: {
    texts: resourceTexts,
    limits: textLimits,
    access: access.permission('resources.manage', 'resources.write'),
  },
  tag: {
    texts: tagTexts,
    limits: { ...tagTextLimits, description: 0 },
    access: access.permission('tags.manage'),
  },
  category: {
    texts: categoryTexts as Texts,
    // A translation of a category requires a name.
    limits: { ...categoryTextLimits, needsName: true },
    access: access.tenantAdmin(),
  },
};
