import { access } from '#core/access/access';
import { extendAuditPartitions } from '#core/db/migrate';
import { StreamedContent } from '#core/http/downloads';
import { defineModule, defineRoute, type Module } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import { listActions } from '#modules/audit-logs/actions.service';
import {
  ExportRunning,
  ExportsRunning,
  PeriodInvalid,
  VerificationRunning,
  VerificationsRunning,
} from '#modules/audit-logs/audit-logs.errors';
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

const partitions: Job = {
  name: 'audit-partitions',
  description: 'Makes the partitions of the audit trail for the months to come.',
  schedule: '3 * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  run: ({ services, connection }) => extendAuditPartitions(connection, services.now()),
};

/** Who did what in the tenant, and from where; what actions there are follows from the routes of all modules. */
export function createAuditLogsModule(listModules: () => readonly Module[]): Module {
  const listRoutes = () => listModules().flatMap((module) => module.routes);
  return defineModule({
    name: 'audit-logs',
    description: 'Who did what in the tenant, and from where',
    jobs: [partitions],
    routes: [
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs',
        operationId: 'listAuditLogs',
        summary: 'The audit trail of the tenant, newest first',
        access: access.permission('audit_logs.read'),
        schema: { query: ListAuditLogsQuery, response: { 200: AuditLogPage } },
        tool: {
          toolset: 'audit',
          description:
            'The audit trail of the tenant, newest first: who did what, when and from where. Times, actions, people and records narrow it down.',
        },
        handler: ({ db, query, services, setHeader }) => searchAuditLogs({ db, services, setHeader }, query),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs/actions',
        operationId: 'listAuditActions',
        summary: 'What the trail calls the things that are done, and what they are done to',
        access: access.permission('audit_logs.read'),
        schema: { response: { 200: Actions } },
        tool: {
          toolset: 'audit',
          description: 'The names of the actions and of the kinds of records that the audit trail knows.',
        },
        handler: () => ({ data: listActions(listRoutes()) }),
      }),
      defineRoute({
        method: 'GET',
        path: '/api/v1/secure/audit-logs/export',
        operationId: 'exportAuditLogs',
        summary: 'All of the trail that matches, oldest first, as CSV or as lines of JSON',
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
        summary: 'Whether anything of the trail was changed, deleted or inserted behind the back of the service',
        access: access.permission('audit_logs.read'),
        schema: { query: VerifyAuditLogsQuery, response: { 200: Verification } },
        errors: [PeriodInvalid, VerificationRunning, VerificationsRunning],
        takesLong: true,
        handler: ({ db, query, untilAbandoned }) => verifyAuditLogs({ db, signal: untilAbandoned() }, query),
      }),
    ],
  });
}
