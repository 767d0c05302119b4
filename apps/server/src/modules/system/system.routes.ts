import Type from 'typebox';

import { access } from '#core/base/access/access';
import { ServiceUnavailable } from '#core/base/errors/common-errors';
import { defineRoute, type Route } from '#core/http/route';
import { MailOutbox, MailOutboxQuery, listOutbox } from '#modules/system/mail-outbox';
import { scrapeMetrics } from '#modules/system/metrics';
import { SecurityAudit, SecurityAuditQuery, listSecurityAudit } from '#modules/system/security-audit';
import { Health, HealthQuery, Info } from '#modules/system/system.schemas';
import { getHealth, getInfo } from '#modules/system/system.service';

export const systemRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/system/health',
    operationId: 'getHealth',
    summary: 'Check that the service runs (basic), can answer requests (ready), or get the state of all parts (full)',
    access: access.public('load balancers and monitors have no credentials'),
    schema: { query: HealthQuery, response: { 200: Health } },
    errors: [ServiceUnavailable],
    tool: {
      toolset: 'system',
      description:
        'Checks the health of the service. `level` basic: the service answers; ready: it can perform requests; full: the state of all parts.',
    },
    handler: ({ query, services }) => getHealth(services, query.level ?? 'basic'),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/system/info',
    operationId: 'getSystemInfo',
    summary: 'Get version, uptime and state of the service',
    access: access.public('clients adapt to the version before they log in'),
    schema: { response: { 200: Info } },
    tool: {
      toolset: 'system',
      description: 'Returns version, uptime and state of the service.',
    },
    handler: ({ services }) => getInfo(services),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/system/metrics',
    operationId: 'getMetrics',
    summary:
      'Get metrics of all workers for Prometheus, with METRICS_TOKEN as bearer token or as a system administrator',
    access: access.systemAdmin({ orScraper: true }),
    schema: { response: { 200: Type.String({ description: 'Text format 0.0.4 of Prometheus.' }) } },
    contentTypes: ['text/plain'],
    handler: ({ services, setHeader }) => scrapeMetrics({ services, setHeader }),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/system/mail-outbox',
    operationId: 'listMailOutbox',
    summary: 'List mails of the installation: delivered, waiting, or kept because no mail server is configured',
    access: access.systemAdmin(),
    schema: { query: MailOutboxQuery, response: { 200: MailOutbox } },
    audit: 'mail_outbox.read',
    handler: ({ actor, db, query, services, setHeader }) => listOutbox({ actor, db, services, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/system/logs/security-audit',
    operationId: 'listSecurityAudit',
    summary:
      'List security events of all tenants, newest first: failed logins, refusals, API key usage, administrative changes',
    access: access.systemAdmin(),
    schema: { query: SecurityAuditQuery, response: { 200: SecurityAudit } },
    handler: ({ query, services, setHeader }) => listSecurityAudit({ services, setHeader }, query),
  }),
];
