import { expect } from 'vitest';

import { logInSystemAdmin } from '#test/support/factories';
import type { Answer, TestService } from '#test/support/harness';

export const tenants = '/api/v1/secure/tenants';

export const moves = ['suspend', 'activate', 'delete', 'restore'] as const;
export type Transition = (typeof moves)[number];

export const actionOf: Record<Transition, string> = {
  suspend: 'tenant.suspended',
  activate: 'tenant.activated',
  delete: 'tenant.deletion_requested',
  restore: 'tenant.restored',
};

export function move(test: TestService, token: string, id: string, wanted: Transition): Promise<Answer> {
  return wanted === 'delete'
    ? test.call('DELETE', `${tenants}/${id}`, { token })
    : test.call('POST', `${tenants}/${id}/${wanted}`, { token });
}

/** By a system administrator who logs in at the current time of the test clock. */
export async function moveNow(test: TestService, id: string, ...wanted: Transition[]): Promise<void> {
  const { token } = await logInSystemAdmin(test);
  for (const each of wanted) expect([200, 204]).toContain((await move(test, token, id, each)).status);
}
