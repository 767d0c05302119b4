import type pg from 'pg';

import { newId } from '#core/base/crypto/ids';

/** What the use of connectors leaves of a tenant: a row in every table that has any. */
export async function insertProviderRows(client: pg.ClientBase, tenantId: string): Promise<void> {
  const inserts = [
    `connector_events (tenant_id, id, connector_id, provider, from_status, to_status, severity, reason, message, occurred_at)
       values ($1, $2, $1, 'deepl', 'unknown', 'active', 'info', 'works', 'The connector works.', now())`,
    `operation_overrides (tenant_id, id, operation_key, enabled, created_at, updated_at)
       values ($1, $2, 'translation.text', true, now(), now())`,
    `operation_quota (tenant_id, operation_key, unit, period, starts_at, used)
       values ($1, 'translation.text', 'requests', 'day', now(), 1)`,
    `provider_calls (tenant_id, called_at, id, operation_key, connector_id, provider, outcome, latency_ms, own_credentials)
       values ($1, now(), $2, 'translation.text', $1, 'deepl', 'success', 1, false)`,
    `provider_call_hours (tenant_id, hour, operation_key, provider, requests, successes, failures, rate_limited, cache_hits,
         latency_ms, characters, tokens)
       values ($1, now(), 'translation.text', 'deepl', 1, 1, 0, 0, 0, 1, 4, 0)`,
  ];
  for (const insert of inserts) {
    const values = insert.includes('$2') ? [tenantId, newId()] : [tenantId];
    await client.query(`insert into ${insert} on conflict do nothing`, values);
  }
}
