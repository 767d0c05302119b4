import { searchTextOf, type Translations } from '#modules/categories/categories.rules';
import {
  findTexts,
  listTexts,
  lockTexts,
  updateTexts,
  type CategoryTextsRow,
} from '#modules/categories/category-texts.queries';

type Change = { tenantId: string; translations: Translations; at: string };

/** What of categories is translated; `write` leaves the audit row to who has more to say. */
export const categoryTexts = {
  find: findTexts,
  lock: lockTexts,
  list: listTexts,
  write: ({ id, key }: CategoryTextsRow, { tenantId, translations, at }: Change) =>
    updateTexts({ tenantId, id, translations, searchText: searchTextOf(key, translations), at }),
};
