import { expect } from 'vitest';

import type { Answer, Call, TestService } from '#test/support/harness';

export const adminPath = '/api/v1/secure/admin/flow-tasks';
export const ownPath = '/api/v1/secure/flow-tasks';

type Data = Record<string, any>;

const minimal = { type: 'custom', name: 'House rules', targetRoute: '/rules' };

export function postTask(test: TestService, by: Call, body: object = {}): Promise<Answer> {
  return test.call('POST', adminPath, { ...by, body: { ...minimal, ...body } });
}

export async function newTask(test: TestService, by: Call, body: object = {}): Promise<Data> {
  const answer = await postTask(test, by, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
}

export function complete(test: TestService, by: Call, id: string, body?: object): Promise<Answer> {
  return test.call('POST', `${ownPath}/${id}/complete`, body === undefined ? by : { ...by, body });
}

export function skip(test: TestService, by: Call, id: string): Promise<Answer> {
  return test.call('POST', `${ownPath}/${id}/skip`, by);
}

/** The open tasks of the caller. */
export async function pendingOf(test: TestService, by: Call, query = ''): Promise<Data[]> {
  const { status, body } = await test.call('GET', `${ownPath}/pending${query}`, by);
  expect(status).toBe(200);
  expect(body.total).toBe(body.data.length);
  return body.data;
}

export async function idsPending(test: TestService, by: Call): Promise<string[]> {
  return (await pendingOf(test, by)).map(({ id }) => id as string);
}

/** The evidence of a task, the newest first. */
export async function evidenceOf(test: TestService, by: Call, id: string): Promise<Data[]> {
  const { status, body } = await test.call('GET', `${adminPath}/${id}/completions?limit=200`, by);
  expect(status).toBe(200);
  return body.data;
}

export async function reportOf(test: TestService, by: Call, id: string): Promise<Data> {
  const { status, body } = await test.call('GET', `${adminPath}/${id}/report`, by);
  expect(status).toBe(200);
  return body.data;
}
