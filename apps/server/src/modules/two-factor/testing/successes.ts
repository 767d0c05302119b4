import { createMember } from '#test/support/factories';
import type { SampleContext, Successes } from '#test/support/samples';

/** Successful calls of the recorded operations on second factors of members. */
export function twoFactorSuccesses({ test, tenant }: SampleContext): Successes {
  return {
    resetTwoFactor: async () => {
      const { tenantId } = tenant;
      const { userId: resourceId } = await createMember(test, tenant);
      await test.service.services.database.credential(tenantId).interactive.all({
        kind: 'write',
        text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
               select account_id, 'totp', now(), now() from users where tenant_id = $1 and id = $2`,
        values: [tenantId, resourceId],
        prepare: false,
      });
      const url = `/api/v1/secure/users/${resourceId}/two-factor`;
      return { method: 'DELETE' as const, url, status: 204, resourceType: 'user', resourceId };
    },
  };
}
