import { expect } from 'vitest';

import type { Answer, Call, TestService } from '#test/support/harness';

export const adminPath = '/api/v1/secure/admin/notifications/preferences';
export const ownPath = '/api/v1/secure/notifications/preferences';

type Data = Record<string, any>;
type Given = { category?: string; channel?: string; enabled?: boolean; quietHours?: unknown; rules?: unknown };

export const preference = (given: Given = {}) => ({ category: 'news', channel: 'email', enabled: false, ...given });

/** Uses the administrators' path; `to` has scope and user. */
export function put(test: TestService, by: Call, preferences: Given[], to: object = {}): Promise<Answer> {
  return test.call('PATCH', adminPath, { ...by, body: { preferences: preferences.map(preference), ...to } });
}

export function putOwn(test: TestService, by: Call, preferences: Given[]): Promise<Answer> {
  return test.call('PATCH', ownPath, { ...by, body: { preferences: preferences.map(preference) } });
}

export async function newDefault(test: TestService, by: Call, given: Given = {}): Promise<Data> {
  const answer = await put(test, by, [given], { scope: 'tenant_default' });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data[0];
}

export async function newOverride(test: TestService, by: Call, given: Given = {}): Promise<Data> {
  const answer = await putOwn(test, by, [given]);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data[0];
}

/** What holds for the caller, by channel. */
export async function effectiveOf(test: TestService, by: Call, category: string): Promise<Data> {
  const { status, body } = await test.call('GET', `${ownPath}/effective?category=${category}`, by);
  expect(status).toBe(200);
  return Object.fromEntries(body.data.map((each: Data) => [each.channel, each]));
}
