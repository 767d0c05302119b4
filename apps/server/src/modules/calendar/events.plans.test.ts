import type pg from 'pg';
import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { countEvents, findEvent, listBusy, listConflicts, listEvents } from '#modules/calendar/events.queries';
import { room } from '#modules/calendar/testing/events';
import { withClient } from '#test/support/database';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

/** Books each of 20 rooms for an hour on every tenth day, a hundred times. */
async function fill(client: pg.Client, tenantId: string, rooms: readonly string[]): Promise<void> {
  const slots = `generate_series(0, 1999) n,
    lateral (select timestamptz '2020-01-01Z' + (n / 20) * interval '10 days' as s) t`;
  await client.query(
    `insert into calendar_events (tenant_id, id, title, visibility, busy, local_start, local_end, timezone, fold,
       starts_at, ends_at, organizer_type, organizer_id, created_at, updated_at)
     select $1::uuid, md5(n::text || $1::uuid::text)::uuid, 'Event', 'default', true, '', '', 'UTC', 'earlier',
       s, s + interval '1 hour', 'user', $1::uuid, s, s from ${slots}`,
    [tenantId],
  );
  await client.query(
    `insert into calendar_bookings (tenant_id, event_id, entity_type, entity_id, starts_at, ends_at, busy)
     select $1::uuid, md5(n::text || $1::uuid::text)::uuid, 'space', ($2::uuid[])[1 + n % 20], s,
       s + interval '1 hour', true from ${slots}`,
    [tenantId, rooms],
  );
  await client.query('analyze calendar_events, calendar_bookings');
}

describe('query plans of a tenant with many events', () => {
  type Plan = { 'Index Name'?: string; 'Index Cond'?: string; 'Node Type': string; Plans?: Plan[] };

  const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)];

  async function scansOf(tenantId: string, query: { text: string; values: readonly unknown[] }): Promise<Plan[]> {
    const [row] = await test.service.services.database
      .tenant(tenantId)
      .interactive.all<{ 'QUERY PLAN': { Plan: Plan }[] }>({
        kind: 'read',
        text: `explain (format json) ${query.text}`,
        values: query.values,
        prepare: false,
      });
    return flatten(row!['QUERY PLAN'][0]!.Plan).filter((node) => node['Node Type'].endsWith(' Scan'));
  }

  const condition = (scans: Plan[], index: string) =>
    scans.find((scan) => scan['Index Name'] === index)?.['Index Cond'];

  it('use an index for ranges and entities, in both directions', async () => {
    const busy = await createTenant(test);
    const { tenantId } = busy;
    const halls = await Promise.all(Array.from({ length: 20 }, () => room(test, busy)));
    const ids = halls.map(({ entity_id }) => entity_id);
    await withClient(test.connection, (client) => fill(client, tenantId, ids));
    const range = { from: '2021-06-01T00:00:00Z', to: '2021-06-02T00:00:00Z' };
    const reader = { kind: 'user', id: busy.admin.userId, managesCalendars: true, seesPeople: true } as const;
    const filters = { ...range, entityType: undefined, entityId: undefined, search: undefined, reader };
    const page = { limit: 50, offset: 0, latestFirst: false };
    const bounds = /starts_at <.*starts_at >|starts_at >.*starts_at </;
    for (const query of [listEvents(tenantId, filters, page), countEvents(tenantId, filters)]) {
      expect(condition(await scansOf(tenantId, query), 'calendar_events_by_start')).toMatch(bounds);
    }
    const ofOne = listEvents(tenantId, { ...filters, entityId: ids[0]! }, page);
    expect(condition(await scansOf(tenantId, ofOne), 'calendar_bookings_by_entity')).toMatch(bounds);
    const wanted = { startsAt: range.from, endsAt: range.to, eventId: newId() };
    for (const query of [
      listBusy({ tenantId, ids: ids.slice(0, 3), ...range }),
      listConflicts({ tenantId, ids: ids.slice(0, 3), ...wanted }),
    ]) {
      expect(condition(await scansOf(tenantId, query), 'calendar_bookings_by_entity')).toMatch(bounds);
    }
    expect(condition(await scansOf(tenantId, findEvent({ tenantId, id: newId() })), 'calendar_events_pkey')).toMatch(
      /id =/,
    );
  });
});
