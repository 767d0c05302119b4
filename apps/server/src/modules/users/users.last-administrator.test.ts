import { describe, expect, it } from 'vitest';

import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/users';

const patch = (by: Person, id: string, body: unknown): Promise<Answer> =>
  test.call('PATCH', `${path}/${id}`, { token: by.token, body });
const remove = (by: Person, id: string): Promise<Answer> => test.call('DELETE', `${path}/${id}`, { token: by.token });

async function administrators(tenant: Tenant): Promise<number> {
  const rows = await test.service.services.database.tenant(tenant.tenantId).all({
    kind: 'read',
    text: `select id from users where is_tenant_admin and status = 'active'`,
    values: [],
    prepare: false,
  });
  return rows.length;
}

describe('the last administrator', () => {
  it('409: cannot be demoted, suspended or deleted, alone or with other changes', async () => {
    const tenant = await createTenant(test);
    const { admin } = tenant;
    for (const answer of [
      await patch(admin, admin.userId, { isTenantAdmin: false }),
      await patch(admin, admin.userId, { status: 'suspended' }),
      await patch(admin, admin.userId.toUpperCase(), { isTenantAdmin: true, status: 'suspended' }),
      await patch(admin, admin.userId, { displayName: 'Ada', isTenantAdmin: false }),
      await remove(admin, admin.userId),
    ]) {
      expectError(answer, 409, 'CONFLICT', 'LAST_ADMINISTRATOR');
    }
    const unchanged = await test.call('GET', `${path}/${admin.userId}`, { token: admin.token });
    expect(unchanged.body.data).toMatchObject({ isTenantAdmin: true, status: 'active' });
    expect(unchanged.body.data.displayName).not.toBe('Ada');
    expect((await patch(admin, admin.userId, { displayName: 'Ada', isTenantAdmin: true })).status).toBe(200);
  });

  it('409: is the one who remains when the others are suspended or deleted', async () => {
    const tenant = await createTenant(test);
    const { admin } = tenant;
    const [second, third] = [
      await createMember(test, tenant, { isTenantAdmin: true }),
      await createMember(test, tenant, { isTenantAdmin: true }),
    ];
    expect((await patch(admin, second.userId, { status: 'suspended' })).status).toBe(200);
    expect((await remove(admin, third.userId)).status).toBe(204);
    expectError(await remove(admin, admin.userId), 409, 'CONFLICT', 'LAST_ADMINISTRATOR');
    // A suspended administrator does not count, so the demotion is permitted.
    expect((await patch(admin, second.userId, { isTenantAdmin: false })).status).toBe(200);
    expect((await patch(admin, second.userId, { isTenantAdmin: true, status: 'active' })).status).toBe(200);
    expect((await remove(admin, admin.userId)).status).toBe(204);
    expect(await administrators(tenant)).toBe(1);
  });

  it('always remains when two administrators are demoted concurrently, 20 times', async () => {
    for (const body of [{ isTenantAdmin: false }, { status: 'suspended' }]) {
      const tenant = await createTenant(test);
      const pair = [tenant.admin, await createMember(test, tenant, { isTenantAdmin: true })] as const;
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => patch(pair[at % 2]!, pair[(at + 1) % 2]!.userId, body)),
      );
      expect(answers.every(({ status }) => status < 500)).toBe(true);
      expect(answers.some(({ status }) => status === 200)).toBe(true);
      expect(await administrators(tenant)).toBe(1);
    }
  });

  it('always remains when two administrators delete each other', async () => {
    const tenant = await createTenant(test);
    const second = await createMember(test, tenant, { isTenantAdmin: true });
    const answers = await Promise.all([
      remove(tenant.admin, second.userId),
      remove(second, tenant.admin.userId),
      remove(tenant.admin, tenant.admin.userId),
      remove(second, second.userId),
    ]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(await administrators(tenant)).toBe(1);
  });
});
