import { access } from '#core/base/access/access';
import { StreamedContent } from '#core/http/downloads';
import { defineModule, defineRoute, type Module } from '#core/http/route';
import { listActions } from '#modules/audit-logs/actions.service';
import {
  ExportRunning,
  ExportsRunning,
  PeriodInvalid,
  VerificationRunning,
  VerificationsRunning,
} from '#modules/audit-logs/audit-logs.errors';
import { partitions } from '#modules/audit-logs/audit-logs.jobs';
import {
  Actions,
  AuditLogPage,
  ExportAuditLogsQuery,
  ListAuditLogsQuery,
  Verification,
  VerifyAuditLogsQuery,
} from '#modules/audit-logs/audit-logs.schemas';
import { exportAuditLogs, searchAuditLogs } from '#modules/audit-logs/audit-logs.service';
import { verifyAuditLogs } from '#modules/audit-logs/verification.service';

/** The audit trail of the tenant; the list of actions derives from the routes of all modules. */
export function createAuditLogsModule(listModules: () => readonly Module[]): Module {
  const listRoutes = () => listModules().flatMap((module) => module.routes);
  return defineModule({
    name: 'audit-logs',
    description: 'Audit trail: every change in the tenant with its actor, time and client address',
    jobs: [partitions],
    routes: [
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs',
        operationId: 'listAuditLogs',
        summary: 'List audit events of the tenant, newest first',
        access: access.permission('audit_logs.read'),
        schema: { query: ListAuditLogsQuery, response: { 200: AuditLogPage } },
        tool: {
          toolset: 'audit',
          description:
            'Lists audit events of the tenant, newest first: actor, action, record, time and client address. Filter by time, action, user or record.',
        },
        handler: ({ db, query, services, setHeader }) => searchAuditLogs({ db, services, setHeader }, query),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs/actions',
        operationId: 'listAuditActions',
        summary: 'List the actions and resource types of the audit trail',
        access: access.permission('audit_logs.read'),
        schema: { response: { 200: Actions } },
        tool: {
          toolset: 'audit',
          description: 'Lists the names of the actions and of the kinds of records in the audit trail.',
        },
        handler: () => ({ data: listActions(listRoutes()) }),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs/export',
        operationId: 'exportAuditLogs',
        summary: 'Export matching audit events, oldest first, as CSV or lines of JSON',
        access: access.permission('audit_logs.read'),
        schema: { query: ExportAuditLogsQuery, response: { 200: StreamedContent } },
        errors: [ExportRunning, ExportsRunning],
        audit: 'audit_logs.exported',
        handler: ({ db, actor, services, query, untilAbandoned }) =>
          exportAuditLogs({ db, actor, now: services.now(), signal: untilAbandoned() }, query),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs/verify',
        operationId: 'verifyAuditLogs',
        summary: 'Verify the audit trail: find rows that were changed, deleted or inserted outside of the service',
        access: access.permission('audit_logs.read'),
        schema: { query: VerifyAuditLogsQuery, response: { 200: Verification } },
        errors: [PeriodInvalid, VerificationRunning, VerificationsRunning],
        takesLong: true,
        handler: ({ db, query, untilAbandoned }) => verifyAuditLogs({ db, signal: untilAbandoned() }, query),
      }),
    ],
  });
}
