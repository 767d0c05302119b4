import { expect } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { unique } from '#test/support/factories';
import type { Answer, TestService } from '#test/support/harness';

export const path = '/api/v1/secure/ai/providers';
export { systemTenantId };

/** What has to be said of a connector at least. */
export const minimal = () => ({ api_key: unique('api'), api_name: 'API', api_base_url: 'https://api.example.com/v1' });

export async function createConnector(
  test: TestService,
  token: string,
  body: Record<string, unknown> = {},
): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token, body: { ...minimal(), ...body } });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data;
}

export function patchConnector(test: TestService, token: string, id: string, body: unknown): Promise<Answer> {
  return test.call('PATCH', `${path}/${id}`, { token, body });
}

/** A row as the database has it. */
export async function storedConnector(test: TestService, tenantId: string, id: string): Promise<Record<string, any>> {
  const row = await test.service.services.database.tenant(tenantId).first<Record<string, any>>({
    kind: 'read',
    text: 'select * from connectors where tenant_id = $1 and id = $2',
    values: [tenantId, id],
    prepare: false,
  });
  return row!;
}

/** The credentials of a connector as a call would use them. */
export async function credentialsOf(test: TestService, tenantId: string, id: string): Promise<unknown> {
  const { auth_config: sealed } = await storedConnector(test, tenantId, id);
  if (sealed === null) return null;
  return JSON.parse(test.service.services.encryption.decrypt(sealed, `connectors.auth_config:${id}`));
}

/** Traffic as it will be one day: health and failures that enabling forgets. */
export async function markFailed(test: TestService, tenantId: string, id: string): Promise<void> {
  await test.service.services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: `update connectors set status = 'error', auto_disabled = true, consecutive_failures = 5, error_message = 'canary message',
             error_details = '{"canary":"details"}', last_error = '2026-01-01T00:00:00Z'
           where tenant_id = $1 and id = $2`,
    values: [tenantId, id],
    prepare: false,
  });
}
