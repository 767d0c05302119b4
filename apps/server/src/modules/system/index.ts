import Type from 'typebox';

import { access } from '#core/access/access';
import { ServiceUnavailable } from '#core/errors/common-errors';
import { defineModule, defineRoute } from '#core/http/route';
import { scrapeMetrics } from '#modules/system/metrics';
import { systemJobs } from '#modules/system/jobs';
import { MailOutbox, MailOutboxQuery, listOutbox } from '#modules/system/mail-outbox';
import { SecurityAudit, SecurityAuditQuery, listSecurityAudit } from '#modules/system/security-audit';
import { Health, HealthQuery, Info } from '#modules/system/system.schemas';
import { getHealth, getInfo } from '#modules/system/system.service';

/** Health, version and what the operator of the installation looks at. */
export const systemModule = defineModule({
  name: 'system',
  description: 'Health, version and what the operator of the installation looks at',
  jobs: systemJobs,
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/system/health',
      operationId: 'getHealth',
      summary: 'Whether the service runs (basic), can answer (ready), and how its parts do (full)',
      access: access.public('load balancers and monitors have no credentials'),
      schema: { query: HealthQuery, response: { 200: Health } },
      errors: [ServiceUnavailable],
      tool: {
        toolset: 'system',
        description:
          'Whether the service runs. `level` basic only says that it answers, ready that it can work, full how its parts do.',
      },
      handler: ({ query, services }) => getHealth(services, query.level ?? 'basic'),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/system/info',
      operationId: 'getSystemInfo',
      summary: 'Version, uptime and state of the service',
      access: access.public('clients adapt to the version before they log in'),
      schema: { response: { 200: Info } },
      tool: {
        toolset: 'system',
        description: 'Version, uptime and state of the service.',
      },
      handler: ({ services }) => getInfo(services),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/system/metrics',
      operationId: 'getMetrics',
      summary:
        'Numbers of this process, or of all its workers, for Prometheus, with METRICS_TOKEN as bearer token or as a system administrator',
      access: access.systemAdmin({ orScraper: true }),
      schema: { response: { 200: Type.String({ description: 'Text format 0.0.4 of Prometheus' }) } },
      contentTypes: ['text/plain'],
      handler: ({ services, setHeader }) => scrapeMetrics({ services, setHeader }),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/system/mail-outbox',
      operationId: 'listMailOutbox',
      summary: 'Mails of the installation: delivered, waiting, or kept because no mail server is configured',
      access: access.systemAdmin(),
      schema: { query: MailOutboxQuery, response: { 200: MailOutbox } },
      audit: 'mail_outbox.read',
      handler: ({ actor, db, query, services, setHeader }) => listOutbox({ actor, db, services, setHeader }, query),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/system/logs/security-audit',
      operationId: 'listSecurityAudit',
      summary: 'Failed logins, refusals, uses of API keys and administrative changes in all tenants, newest first',
      access: access.systemAdmin(),
      schema: { query: SecurityAuditQuery, response: { 200: SecurityAudit } },
      handler: ({ query, services, setHeader }) => listSecurityAudit({ services, setHeader }, query),
    }),
  ],
});
