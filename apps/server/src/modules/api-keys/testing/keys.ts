import { expect } from 'vitest';

import type { Person, Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

export const apiKeys = '/api/v1/secure/api-keys';
export const spaces = '/api/v1/secure/spaces';

export type IssuedKey = { id: string; fullKey: string; keyUuid: string };

/** All flags. */
export const allPermissions = {
  resources: { read: true, write: true, delete: true, properties: [] },
  spaces: { read: true, write: true, delete: true },
  geo: { geocode: true, reverse_geocode: true },
  calendar: { free_busy: true, events: true },
  users: { read: true },
  tags: { read: true },
  categories: { read: true },
  typeDefinitions: { read: true },
  feedbacks: { read: true },
  qrCodes: { read: true, write: true, delete: true, assign: true },
};

/** A key that may read spaces, unless the body says otherwise. */
export async function createKey(test: TestService, by: Person, body: object = {}): Promise<IssuedKey> {
  const created = await test.call('POST', apiKeys, {
    token: by.token,
    body: { name: 'Door', permissions: { spaces: { read: true } }, ...body },
  });
  expect(created).toMatchObject({ status: 201 });
  return toIssuedKey(created);
}

export function toIssuedKey({ body }: Answer): IssuedKey {
  return { id: body.data.id, fullKey: body.fullKey, keyUuid: body.data.key_uuid };
}

/** A request that any key with `spaces.read` may make. */
export function listSpacesWith(test: TestService, fullKey: string, call: Call = {}): Promise<Answer> {
  return test.call('GET', spaces, { ...call, headers: { 'x-api-key': fullKey, ...call.headers } });
}

/** The status of an answer to the key. */
export async function statusOfKey(test: TestService, fullKey: string, call: Call = {}): Promise<number> {
  return (await listSpacesWith(test, fullKey, call)).status;
}

export function patchKey(test: TestService, { admin }: Tenant, id: string, body: object): Promise<Answer> {
  return test.call('PATCH', `${apiKeys}/${id}`, { token: admin.token, body });
}

export function rotateKey(test: TestService, { admin }: Tenant, id: string, graceSeconds?: number): Promise<Answer> {
  const query = graceSeconds === undefined ? '' : `?grace_seconds=${graceSeconds}`;
  return test.call('POST', `${apiKeys}/${id}/rotate${query}`, { token: admin.token });
}
