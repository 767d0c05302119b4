import { access } from '#core/access/access';
import type { TenantDb } from '#core/db/scopes';
import { pageOfMatches } from '#core/db/totals';
import { toPage } from '#core/http/paging';
import { defineModule, defineRoute } from '#core/http/route';
import { countAuditLogs, listAuditLogs, type AuditLogRow } from '#modules/audit-logs/audit-logs.queries';
import { AuditLogPage, ListAuditLogsQuery } from '#modules/audit-logs/audit-logs.schemas';

/** Who did what in the tenant, and from where. */
export const auditLogsModule = defineModule({
  name: 'audit-logs',
  description: 'Who did what in the tenant, and from where',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/audit-logs',
      operationId: 'listAuditLogs',
      summary: 'The audit trail of the tenant, newest first',
      access: access.permission('audit_logs.read'),
      schema: { query: ListAuditLogsQuery, response: { 200: AuditLogPage } },
      handler: ({ db, query, setHeader }) => list({ db, setHeader }, query),
    }),
  ],
});

async function list(
  { db, setHeader }: { db: TenantDb; setHeader(name: string, value: string): void },
  query: ListAuditLogsQuery,
) {
  const { limit = 50, offset = 0, sort = '-created_at' } = query;
  const filters = {
    userId: query.user_id,
    action: query.action,
    resourceType: query.resource_type,
    resourceId: query.resource_id,
    ipAddress: query.ip_address,
    from: query.from,
    to: query.to,
  };
  const { rows, ...total } = await pageOfMatches(
    db,
    listAuditLogs(db.tenantId, filters, { limit, offset, descending: sort.startsWith('-') }),
    countAuditLogs(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentAuditLog), { limit, offset }, total, setHeader);
}

function presentAuditLog(row: AuditLogRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    user_id: row.user_id,
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    details: row.details,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    created_at: row.created_at,
  };
}
