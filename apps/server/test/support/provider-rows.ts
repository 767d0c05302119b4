import type pg from 'pg';

/** What the use of outside providers leaves of a tenant: a row in every table that has any. */
export async function insertProviderRows(client: pg.ClientBase, tenantId: string): Promise<void> {
  const inserts = [
    `connector_events (tenant_id, id, connector_id, provider, from_status, to_status, severity, reason, message, occurred_at)
       values ($1, $1, $1, 'deepl', 'unknown', 'active', 'info', 'works', 'The connector works.', now())`,
    `operation_overrides (tenant_id, id, operation_key, enabled, created_at, updated_at)
       values ($1, $1, 'translation.text', true, now(), now())`,
    `operation_quota (tenant_id, operation_key, unit, period, starts_at, used)
       values ($1, 'translation.text', 'requests', 'day', now(), 1)`,
    `provider_calls (tenant_id, called_at, id, operation_key, connector_id, provider, outcome, latency_ms, own_credentials)
       values ($1, now(), $1, 'translation.text', $1, 'deepl', 'success', 1, false)`,
    `provider_call_hours (tenant_id, hour, operation_key, provider, requests, successes, failures, rate_limited, cache_hits,
         latency_ms, characters, tokens)
       values ($1, now(), 'translation.text', 'deepl', 1, 1, 0, 0, 0, 1, 4, 0)`,
    `model_catalogs (tenant_id, task) values ($1, 'text')`,
    `translation_memory (tenant_id, key, translation, provider, created_at) values ($1, 'key', 'Raum', 'deepl', now())`,
    `translation_marks (tenant_id, entity_type, entity_id, language, field, source_hash, value_hash, provider, translated_at)
       values ($1, 'space', $1, 'de', 'name', 'source', 'value', 'deepl', now())`,
    `translation_jobs (tenant_id, id, entity_type, fingerprint, status, languages, entities_total, created_at, updated_at)
       values ($1, $1, 'space', 'equal', 'completed', '{de}', 1, now(), now())`,
  ];
  for (const insert of inserts) await client.query(`insert into ${insert}`, [tenantId]);
}
