import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, nullable, pageOf, paging, sortable } from '#core/base/schemas';
import { pageOfMatches } from '#core/data/db/totals';
import {
  countSecurityEvents,
  listSecurityEvents,
  securityEventTypes,
  type SecurityEventRow,
} from '#core/data/security-events/security-events.queries';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';

const instant = { format: 'date-time', maxLength: 40 };

export const SecurityAuditQuery = Type.Object({
  ...paging,
  sort: sortable(['timestamp']),
  eventType: Type.Optional(Type.Enum(securityEventTypes, { description: 'Type of the event.' })),
  tenantId: Type.Optional(Uuid),
  userId: Type.Optional(Uuid),
  startTime: Type.Optional(Type.String({ ...instant, description: 'Start of the time range, inclusive (RFC 3339).' })),
  endTime: Type.Optional(Type.String({ ...instant, description: 'End of the time range, exclusive (RFC 3339).' })),
});
export type SecurityAuditQuery = Static<typeof SecurityAuditQuery>;

export const SecurityAudit = pageOf(
  closed(
    {
      id: Type.String(),
      timestamp: Timestamp,
      eventType: Type.Enum(securityEventTypes, { description: 'Type of the event.' }),
      userId: nullable(Uuid),
      tenantId: nullable(Uuid),
      details: Type.Record(Type.String(), Type.Unknown(), { description: 'Facts of the event, by type.' }),
    },
    { title: 'SecurityEvent' },
  ),
);

type Scope = { services: Pick<Services, 'database'>; setHeader: SetHeader };

/** Security events of all tenants, newest first; an event is visible a moment after its cause. */
export async function listSecurityAudit({ services, setHeader }: Scope, query: SecurityAuditQuery) {
  const { limit = 50, offset = 0, sort, startTime: from, endTime: to, ...rest } = query;
  const filters = { eventType: rest.eventType, tenantId: rest.tenantId, userId: rest.userId, from, to };
  const { descending } = parseSort(sort) ?? { descending: true };
  const { rows, ...total } = await pageOfMatches(
    services.database.platform(),
    listSecurityEvents(filters, { limit, offset, descending }),
    countSecurityEvents(filters),
    { limit, offset },
  );
  return toPage(rows.map(presentEvent), { limit, offset }, total, setHeader);
}

function presentEvent(row: SecurityEventRow) {
  return {
    id: row.id,
    timestamp: row.created_at,
    eventType: row.event_type,
    userId: row.user_id,
    tenantId: row.concerned_tenant_id,
    details: row.details,
  };
}
