import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { countTexts, listTexts, type TextStateRow } from '#modules/translation/entities/marks.queries';
import type { ListMarksQuery } from '#modules/translation/translation.schemas';
import type { EntityType } from '#modules/translation/translation.types';

/** How each translated text came to be what it is. */
export async function listTranslationMarks(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  query: ListMarksQuery,
) {
  const { limit = 50, offset = 0, entity_type: type, entity_id: id, language, state } = query;
  const filters = { type, id, language, state };
  const page = { limit, offset };
  const { rows, ...total } = await pageOfMatches(
    db,
    listTexts(db.tenantId, filters, page),
    countTexts(db.tenantId, filters),
    page,
  );
  return toPage(
    rows.map((row) => presentMark(type, row)),
    page,
    total,
    setHeader,
  );
}

function presentMark(type: EntityType, row: TextStateRow) {
  return {
    entity_type: type,
    entity_id: row.entity_id,
    language: row.language,
    field: row.field,
    state: row.state,
    provider: row.provider,
    translated_at: row.translated_at,
  };
}
