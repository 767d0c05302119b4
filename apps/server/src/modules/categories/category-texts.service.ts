import {
  findTexts,
  listTexts,
  lockTexts,
  updateTexts,
  type CategoryTextsRow,
} from '#modules/categories/categories.queries';
import { searchTextOf, type Translations } from '#modules/categories/categories.rules';

type Change = { tenantId: string; translations: Translations; at: string };

/** The translated texts of categories; `write` adds no audit event, because the caller records more details. */
export const categoryTexts = {
  find: findTexts,
  lock: lockTexts,
  list: listTexts,
  write: ({ id, key }: CategoryTextsRow, { tenantId, translations, at }: Change) =>
    updateTexts({ tenantId, id, translations, searchText: searchTextOf(key, translations), at }),
};
