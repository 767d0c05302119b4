import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Principal } from '#core/access/principal';
import { clientAddress } from '#core/http/client-address';
import type { Route } from '#core/http/route';
import { withoutRedaction } from '#core/log/log';
import type { Services } from '#core/services';

/** What is written down of every answer once it is sent: a log line, the use of a credential, what concerns security. */
export function reportAnswers(server: FastifyInstance, services: Services): void {
  const log = withoutRedaction(services.log);
  server.addHook('onResponse', (request, reply, done) => {
    const { principal } = request;
    const { route } = request.routeOptions.config as { route?: Route };
    log.info({
      requestId: request.id,
      method: request.method,
      // The pattern, not the URL: identifiers and search words are not for the log.
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ip: request.facts?.ip ?? clientAddress(request),
      tenantId: principal?.tenantId ?? null,
      userId: principal?.userId ?? null,
    });
    if (principal !== undefined && route !== undefined) report(services, { request, reply, principal, route });
    done();
  });
}

type Answer = { request: FastifyRequest; reply: FastifyReply; principal: Principal; route: Route };

function report({ usage, securityEvents }: Services, { request, reply, principal, route }: Answer): void {
  const { id, kind, tenantId, homeTenantId, userId } = principal;
  const { operationId: operation } = route;
  const { statusCode: status } = reply;
  const ip = request.facts!.ip;
  if (kind !== 'user')
    usage.record({ tenantId: homeTenantId, credentialId: id, operation, isError: status >= 400, ip });
  const isAdministration = isAdministrative(route, principal) && status < 400;
  if (status !== 403 && !isAdministration) return;
  // Somebody of another tenant is a system administrator who named this one.
  const from = homeTenantId === tenantId ? {} : { actingFromTenantId: homeTenantId };
  securityEvents.record({
    type: status === 403 ? 'permission_denied' : 'admin_action',
    tenantId,
    userId,
    details: { operation, actor: { type: kind, id, ...from }, ip, requestId: request.id },
  });
}

/** A change that only somebody with administrative rights could make. */
function isAdministrative({ access, audit }: Route, principal: Principal): boolean {
  if (typeof audit !== 'string' || principal.kind !== 'user') return false;
  return ['permission', 'tenantAdmin', 'systemAdmin'].includes(access.kind);
}
