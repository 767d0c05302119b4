import { expect } from 'vitest';

import { create } from '#test/support/directory';
import type { Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

export const calendar = '/api/v1/secure/calendar';
export const events = `${calendar}/events`;

type Data = Record<string, any>;
export type Entity = { entity_type: 'space' | 'resource' | 'user'; entity_id: string };

export const user = (id: string): Entity => ({ entity_type: 'user', entity_id: id });

/** Creates a space or a resource that can be booked. */
export async function room(test: TestService, tenant: Tenant, fields: object = {}): Promise<Entity> {
  const { id } = await create(test, { token: tenant.admin.token }, 'spaces', fields);
  return { entity_type: 'space', entity_id: id };
}

export async function device(test: TestService, tenant: Tenant, fields: object = {}): Promise<Entity> {
  const { id } = await create(test, { token: tenant.admin.token }, 'resources', fields);
  return { entity_type: 'resource', entity_id: id };
}

/** From nine to ten, unless the fields say otherwise. */
export function eventOf(entities: readonly Entity[], fields: object = {}): Data {
  return {
    title: 'Meeting',
    local_start: '2026-06-01T09:00',
    local_end: '2026-06-01T10:00',
    timezone: 'UTC',
    entities,
    ...fields,
  };
}

export function book(test: TestService, by: Call, entities: readonly Entity[], fields: object = {}): Promise<Answer> {
  return test.call('POST', events, { ...by, body: eventOf(entities, fields) });
}

export async function booked(
  test: TestService,
  by: Call,
  entities: readonly Entity[],
  fields: object = {},
): Promise<Data> {
  const answer = await book(test, by, entities, fields);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data;
}

export function change(test: TestService, by: Call, id: string, body: object): Promise<Answer> {
  return test.call('PATCH', `${events}/${id}`, { ...by, body });
}

/** Busy times of the entities, by default in the first week of June 2026. */
export async function busyOf(
  test: TestService,
  by: Call,
  entities: readonly Entity[],
  range: object = {},
): Promise<[string, string][][]> {
  const body = { entities, from: '2026-06-01T00:00:00Z', to: '2026-06-08T00:00:00Z', ...range };
  const answer = await test.call('POST', `${calendar}/free-busy`, { ...by, body });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data.map((each: Data) => each['busy'].map((slot: Data) => [slot['starts_at'], slot['ends_at']]));
}
