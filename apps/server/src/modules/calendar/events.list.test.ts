import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { booked, device, events, room, user, type Entity } from '#modules/calendar/testing/events';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let by: Call;
let hall: Entity;
let projector: Entity;

beforeAll(async () => {
  tenant = await createTenant(test);
  by = { token: tenant.admin.token };
  [hall, projector] = [await room(test, tenant), await device(test, tenant)];
  const at = (title: string, local_start: string, local_end: string) => ({ title, local_start, local_end });
  await booked(test, by, [hall], at('Long', '2026-05-01T12:00', '2026-06-01T12:00'));
  await booked(test, by, [hall, projector], at('Second', '2026-06-02T09:00', '2026-06-02T10:00'));
  await booked(test, by, [projector], at('100%_sure', '2026-06-03T09:00', '2026-06-03T10:00'));
  await booked(test, by, [user(tenant.admin.userId)], at('Own', '2026-06-04T09:00', '2026-06-04T10:00'));
  await booked(test, by, [user(tenant.admin.userId)], {
    ...at('Quiet', '2026-06-04T09:00', '2026-06-04T10:00'),
    busy: false,
  });
});

const list = (query: object) => {
  const range = { from: '2026-06-01T00:00:00Z', to: '2026-07-01T00:00:00Z' };
  return test.call('GET', `${events}?${new URLSearchParams({ ...range, ...query }).toString()}`, by);
};
const titles = async (query: object) => {
  const answer = await list(query);
  expect(answer).toMatchObject({ status: 200, body: { pagination: { total: answer.body.data.length } } });
  return answer.body.data.map(({ title }: { title: string }) => title);
};
const all = ['Long', 'Second', '100%_sure', 'Own', 'Quiet'];

describe('listEvents', () => {
  it('200: events that overlap the range, by start', async () => {
    expect(await titles({})).toEqual(all);
    expect(await titles({ sort: '-starts_at' })).toEqual(all.toReversed());
    expect(await titles({ from: '2026-06-01T12:00:00Z', to: '2026-06-02T09:00:00Z' })).toEqual([]);
    expect(await titles({ from: '2026-06-01T11:59:59.999Z', to: '2026-06-02T09:00:00.001Z' })).toEqual([
      'Long',
      'Second',
    ]);
    expect(await titles({ from: '2026-06-02T11:59:00+02:00', to: '2026-06-02T11:59:30+02:00' })).toEqual(['Second']);
    expect(await titles({ from: '0001-01-01T00:00:00Z', to: '0001-12-31T00:00:00Z' })).toEqual([]);
    expect(await titles({ from: '9999-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' })).toEqual([]);
  });

  it('200: events of one entity, or of one kind', async () => {
    expect(await titles({ entity_type: hall.entity_type, entity_id: hall.entity_id })).toEqual(['Long', 'Second']);
    expect(await titles({ entityId: projector.entity_id })).toEqual(['Second', '100%_sure']);
    expect(await titles({ entity_type: 'user' })).toEqual(['Own', 'Quiet']);
    expect(await titles({ entity_type: 'resource' })).toEqual(['Second', '100%_sure']);
    expect(await titles({ entity_type: 'user', entity_id: hall.entity_id })).toEqual([]);
    expect(await titles({ entity_id: newId() })).toEqual([]);
  });

  it('200: a search in titles, by words and literally', async () => {
    expect(await titles({ search: 'SECOND' })).toEqual(['Second']);
    expect(await titles({ search: '%' })).toEqual(['100%_sure']);
    expect(await titles({ search: 'sure 100' })).toEqual(['100%_sure']);
    expect(await titles({ search: 'nothing' })).toEqual([]);
  });

  it('200: page by page', async () => {
    const page = await list({ limit: 2, offset: 1 });
    expect(page.body).toMatchObject({
      data: [{ title: 'Second' }, { title: '100%_sure' }],
      pagination: { total: 5, limit: 2, offset: 1, hasMore: true },
    });
  });

  it('422: a range that is empty or longer than 366 days', async () => {
    const empty = await list({ to: '2026-06-01T00:00:00Z' });
    expectError(empty, 422, 'UNPROCESSABLE_ENTITY', 'END_NOT_AFTER_START');
    const long = await list({ to: '2027-06-02T00:00:00.001Z' });
    expectError(long, 422, 'UNPROCESSABLE_ENTITY', 'RANGE_TOO_LONG');
    expect((await list({ to: '2027-06-02T00:00:00Z' })).status).toBe(200);
  });

  it('400: no range, and invalid values', async () => {
    expectError(await test.call('GET', events, by), 400, 'VALIDATION_ERROR');
    expectError(await test.call('GET', `${events}?from=2026-06-01T00:00:00Z`, by), 400, 'VALIDATION_ERROR');
    for (const query of [
      { from: '2026-06-01' },
      { entity_type: 'group' },
      { entity_id: 'x' },
      { limit: 201 },
      { sort: 'title' },
    ]) {
      expectError(await list(query), 400, 'VALIDATION_ERROR');
    }
  });
});
