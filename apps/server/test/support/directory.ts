import { expect } from 'vitest';

import { createAppAccount, logIn, unique, type Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

/** Where what a tenant keeps is found. */
export const paths = {
  spaces: '/api/v1/secure/spaces',
  resources: '/api/v1/secure/resources',
  types: '/api/v1/secure/type-definitions',
  tags: '/api/v1/secure/tags',
  categories: '/api/v1/secure/taxonomy/categories',
  feedbacks: '/api/v1/secure/feedbacks',
  qrCodes: '/api/v1/secure/qr-codes',
  events: '/api/v1/secure/calendar/events',
} as const;

export type Collection = keyof typeof paths;
type Data = Record<string, any>;

/** What has to be there for a record to be created. */
const min: Record<Collection, () => object> = {
  spaces: () => ({ name: 'Hall' }),
  resources: () => ({ name: 'Projector' }),
  types: () => ({ entity_type: 'resource', key: unique('type'), name: 'Type', json_schema: {} }),
  tags: () => ({ name: unique('tag') }),
  categories: () => ({ key: unique('category'), translations: { en: { name: 'Category' } } }),
  feedbacks: () => ({ message: 'Too warm' }),
  qrCodes: () => ({}),
  events: () => ({}),
};

/** The answer to the creation of a record, with as little as is needed besides the body. */
export function post(test: TestService, by: Call, collection: Collection, body: object = {}): Promise<Answer> {
  return test.call('POST', paths[collection], { ...by, body: { ...min[collection](), ...body } });
}

export async function create(test: TestService, by: Call, collection: Collection, body: object = {}): Promise<Data> {
  const answer = await post(test, by, collection, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data;
}

/** How an API key with these permissions presents itself. */
export async function keyOf(test: TestService, tenant: Tenant, permissions: object): Promise<Call> {
  const { token } = tenant.admin;
  const created = await test.call('POST', '/api/v1/secure/api-keys', { token, body: { name: 'Key', permissions } });
  expect(created).toMatchObject({ status: 201 });
  return { headers: { 'x-api-key': created.body.fullKey } };
}

/** The same for an app account. */
export async function appOf(test: TestService, tenant: Tenant, permissions: object): Promise<Call> {
  const account = await createAppAccount(test, tenant, { permissions });
  return { token: (await logIn(test, account)).token };
}

/** As many calls at once; how often each status was answered. */
export async function race(width: number, call: (at: number) => Promise<Answer>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  const answers = await Promise.all(Array.from({ length: width }, (_, at) => call(at)));
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The actions recorded about a record, oldest first. */
export async function trailOf(test: TestService, tenantId: string, id: string): Promise<Data[]> {
  return test.service.services.database.tenant(tenantId).all({
    kind: 'read',
    text: 'select action, user_id, details from audit_logs where tenant_id = $1 and resource_id = $2 order by id',
    values: [tenantId, id],
    prepare: false,
  });
}

/** A flow task of this name that its creator has completed. */
export async function createCompletedTask(test: TestService, by: Call, name: string): Promise<string> {
  const body = { type: 'custom', name, version: '1', targetRoute: '/start', i18n: { en: { title: name } } };
  const created = await test.call('POST', '/api/v1/secure/admin/flow-tasks', { ...by, body });
  expect(created).toMatchObject({ status: 201 });
  const path = `/api/v1/secure/flow-tasks/${created.body.id}/complete`;
  expect(await test.call('POST', path, { ...by, body: { answers: { name } } })).toMatchObject({ status: 200 });
  return created.body.id;
}
