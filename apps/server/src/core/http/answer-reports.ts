import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Principal, ToolCall } from '#core/base/access/principal';
import { clientAddress } from '#core/http/client-address';
import { matchedRoute } from '#core/http/matched-route';
import type { Route } from '#core/http/route';
import type { Answered } from '#core/platform/metrics/requests';
import type { Services } from '#core/platform/services';

/** An operation that a request called by way of its route; `failure` is what went wrong with it, for statistics. */
export type CalledOperation = { route: Route; status: number; failure?: string | undefined; toolCall: ToolCall };

/** Records every answer after it is sent: a log line, the usage of a credential, security events. */
export function reportAnswers(server: FastifyInstance, services: Services): void {
  const log = services.log.child({ service: 'http', redaction: 'none' });
  server.addHook('onResponse', (request, reply, done) => {
    const { principal } = request;
    // The pattern, not the URL: identifiers and search words are not for the log.
    const { config, url: pattern } = matchedRoute(request);
    const { route } = config as { route?: Route };
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    const tenantId = principal?.tenantId ?? null;
    const about = { requestId: request.id, tenantId, userId: principal?.userId ?? null };
    const fields = {
      method,
      route: pattern ?? null,
      status,
      ms: Math.round(elapsedTime * 10) / 10,
      ip: addressOf(request),
      ...traceOf(request),
      ...toolOf(request),
    };
    log.info(fields, `${method} ${pattern ?? '-'} ${status}`, about);
    // Errors of what was called are results for the protocol, whose own status is 200.
    const told = request.called ?? { status, failure: request.failure };
    const answered = { method, route: route === undefined ? undefined : pattern, status: told.status };
    measure(services, request, answered, elapsedTime);
    services.requestCounts.record({ ms: elapsedTime, isError: told.status >= 400, message: told.failure, tenantId });
    if (principal !== undefined && route !== undefined)
      report(services, { request, reply, principal, route, status, ...request.called });
    done();
  });
}

function addressOf(request: FastifyRequest): string {
  return request.facts?.ip ?? clientAddress(request);
}

const untraced = {};

function traceOf({ span }: FastifyRequest): { traceId?: string } {
  return span === undefined ? untraced : { traceId: span.traceId };
}

/** The audit trail names the caller too, but for an unknown caller this is the only record. */
function toolOf({ called }: FastifyRequest): { tool?: string; toolStatus?: number; client?: string | null } {
  if (called === undefined) return untraced;
  const { status, toolCall } = called;
  return { tool: toolCall.tool, toolStatus: status, client: toolCall.client?.name ?? null };
}

function measure({ metrics }: Services, { span }: FastifyRequest, answered: Answered, ms: number): void {
  metrics.record(answered, ms);
  span?.end(answered);
}

type Answer = { request: FastifyRequest; reply: FastifyReply; principal: Principal; route: Route; status: number };

function report({ usage, securityEvents }: Services, { request, reply, principal, route, status }: Answer): void {
  const { id, kind, tenantId, homeTenantId, userId } = principal;
  const { operationId: operation } = route;
  const ip = request.facts!.ip;
  if (kind !== 'user')
    usage.record({ tenantId: homeTenantId, credentialId: id, operation, isError: status >= 400, ip });
  // A replay has been recorded with the first answer.
  const isAdministration =
    isAdministrative(route, principal) && status < 400 && !reply.hasHeader('idempotency-replayed');
  if (status !== 403 && !isAdministration) return;
  // A user of another tenant is a system administrator who acts in this tenant.
  const from = homeTenantId === tenantId ? {} : { actingFromTenantId: homeTenantId };
  securityEvents.record({
    type: status === 403 ? 'permission_denied' : 'admin_action',
    tenantId,
    userId,
    details: { operation, actor: { type: kind, id, ...from }, ip, requestId: request.id },
  });
}

/** Whether the operation changes something and requires administrator permissions. */
function isAdministrative({ access, audit }: Route, principal: Principal): boolean {
  if (typeof audit !== 'string' || principal.kind !== 'user') return false;
  return ['permission', 'tenantAdmin', 'systemAdmin'].includes(access.kind);
}
