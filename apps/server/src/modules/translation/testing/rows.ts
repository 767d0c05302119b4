import type pg from 'pg';

import { newId } from '#core/base/crypto/ids';

/** What a translation leaves of a tenant besides its job. */
export async function insertTranslationRows(client: pg.ClientBase, tenantId: string): Promise<void> {
  const values = [tenantId, newId()];
  await client.query(
    `insert into translation_memory (tenant_id, key, translation, provider, created_at)
     values ($1, uuid_send($2), 'Raum', 'deepl', now())`,
    values,
  );
  await client.query(
    `insert into translation_marks (tenant_id, entity_type, entity_id, language, field, source_hash, value_hash, provider, translated_at)
     values ($1, 'space', $2, 'de', 'name', 'source', 'value', 'deepl', now())`,
    values,
  );
}
